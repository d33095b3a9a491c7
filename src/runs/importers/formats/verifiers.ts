import type { FolderView } from '../folderView.ts';
import { fieldsOf, textOf } from '../foreignValues.ts';
import type { RunFormat } from '../runFormat.ts';
import { topKeys } from '../topKeys.ts';
import { episodeRollouts } from './traceRecord.ts';

const traces = 'traces.jsonl';
/** File name in earlier versions. */
const results = 'results.jsonl';

async function holdsTraces(folder: FolderView, path: string): Promise<boolean> {
	const keys = topKeys((await folder.head(path)) ?? '');
	return keys.has('traces') || (keys.has('nodes') && keys.has('task'));
}

/** Evaluations from verifiers v1 (verifiers/v1/cli/output.py): one episode per line. */
export const verifiers: RunFormat = {
	name: 'verifiers',
	title: 'verifiers',
	looksFor: 'traces.jsonl with traces in its rows',
	hasSteps: false,
	rollouts: [
		{
			pattern: traces,
			form: 'jsonl',
			split: 'train',
			verbatim: 'messages',
			rollouts: (record) => episodeRollouts(record),
		},
		{
			pattern: results,
			form: 'jsonl',
			split: 'train',
			unlessThere: [traces],
			verbatim: 'messages',
			rollouts: (record) => episodeRollouts(record),
		},
	],
	metrics: [],
	notes: [
		'Evaluations have no steps.',
		'A standalone evaluation records no groups: rollouts for the same task form a group.',
		'The reward is the weighted sum of the scores; null means the rollout was not scored.',
	],
	recognize: async (folder) => (await holdsTraces(folder, traces)) || (await holdsTraces(folder, results)),
	async describe(folder) {
		// In `resolved` since 0.4.
		const config = fieldsOf(
			(await folder.json('configs/resolved/eval.json')) ?? (await folder.json('configs/eval.json')),
		);
		const env = fieldsOf(config?.env);
		const facts: [string, unknown][] = [
			['model', config?.model ?? fieldsOf(config?.client)?.model],
			['environment', textOf(env?.id) || (textOf(fieldsOf(env?.taskset)?.id) ?? env?.name)],
		];
		const versions = facts.flatMap(([name, value]) => {
			const text = textOf(value);
			return text === null ? [] : [[name, text] as const];
		});
		return { versions: Object.fromEntries(versions) };
	},
};
