import { fieldsOf, numberOf, textOf } from '../foreignValues.ts';
import type { RunFormat } from '../runFormat.ts';
import { topKeys } from '../topKeys.ts';
import { evaluationRow } from './evaluationRow.ts';

const rows = 'results.jsonl';

/** Evaluations from verifiers before version 1: outputs/evals/{environment}--{model}/{id}. */
export const verifiersLegacy: RunFormat = {
	name: 'verifiers-legacy',
	title: 'verifiers (evaluations before v1)',
	looksFor: 'results.jsonl with example_id and reward in its rows, next to metadata.json',
	hasSteps: false,
	rollouts: [{ pattern: rows, form: 'jsonl', split: 'train', verbatim: 'messages', rollouts: evaluationRow }],
	metrics: [],
	notes: [
		'Evaluations have no steps.',
		'Rollouts for the same example form a group.',
		'Failed rollouts have reward 0 and no completion; their errors are kept.',
	],
	async recognize(folder) {
		const keys = topKeys((await folder.head(rows)) ?? '');
		return keys.has('example_id') && keys.has('reward');
	},
	async describe(folder) {
		const metadata = fieldsOf(await folder.json('metadata.json'));
		if (!metadata) return {};
		const facts: [string, unknown][] = [
			['model', metadata.model],
			['environment', metadata.env_id],
			['verifiers', fieldsOf(metadata.version_info)?.vf_version],
		];
		const versions = facts.flatMap(([name, value]) => (textOf(value) === null ? [] : [[name, String(value)] as const]));
		const average = numberOf(metadata.avg_reward);
		return {
			versions: Object.fromEntries(versions),
			notes:
				average === null
					? []
					: [`metadata.json reports an average reward of ${average} over all rollouts that were ever added.`],
		};
	},
};
