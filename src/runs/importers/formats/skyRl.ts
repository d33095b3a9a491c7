import type { FolderView } from '../folderView.ts';
import { textOrMessages } from '../foreignMessages.ts';
import type { ForeignMetrics, ForeignRollout } from '../foreignRecord.ts';
import {
	boundedValue,
	extraOf,
	fieldsOf,
	given,
	integerOf,
	numberOf,
	numbersOf,
	scoresOf,
	sumOf,
	textOf,
	truncatedBy,
} from '../foreignValues.ts';
import type { RecordContext, RolloutFiles, RunFormat } from '../runFormat.ts';
import { topKeys } from '../topKeys.ts';

/*
 * skyrl/train/utils/trainer_utils.py: `dump_per_dataset_eval_results` writes one file per data source, plus the means
 * over all sources. A standalone evaluation has no step. It is a separate run, even if it is stored in a training run's
 * folder, as it often is by default.
 */

const stepFolders = ['dumped_evals/global_step_{step}_evals/', 'global_step_{step}_evals/'];
const standaloneFolders = ['dumped_evals/eval_only/', 'eval_only/'];
const means = 'aggregated_results';

/** Returns the total reward: a single number, or the sum of per-token rewards. */
function rewardOf(score: unknown): number | null {
	return Array.isArray(score) ? sumOf(numbersOf(score)) : numberOf(score);
}

export function skyRlRollout(record: unknown, context: RecordContext): readonly ForeignRollout[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	const prompt = textOrMessages(row.input_prompt);
	const completion = textOrMessages(row.output_response);
	if (prompt === null) return 'has no input_prompt';
	if (completion === null) return 'has no output_response';
	if (row.score === undefined) return 'has no score';
	const extras = fieldsOf(row.env_extras);
	const source = textOf(row.data_source) ?? context.parts.source ?? '';
	const info = fieldsOf(extras?.extra_info);
	return [
		{
			groupKey: JSON.stringify([source, prompt]),
			prompt,
			completion,
			reward: rewardOf(row.score),
			truncated: truncatedBy(row.stop_reason),
			stage: 'validation',
			...given('answer', boundedValue(fieldsOf(extras?.reward_spec)?.ground_truth ?? null)),
			...given('row', integerOf(info?.index) ?? textOf(info?.index)),
			...given(
				'extra',
				extraOf({
					source,
					environment: row.env_class,
					stop: row.stop_reason,
					tokenRewards: Array.isArray(row.score) ? row.score.length : null,
				}),
			),
		},
	];
}

export function skyRlMeans(record: unknown, context: RecordContext): readonly ForeignMetrics[] | string {
	if (!fieldsOf(record)) return 'is not an object';
	if (context.step === null) return 'has no step';
	return [{ step: context.step, time: null, values: scoresOf(record) }];
}

const rolloutsIn = (folders: readonly string[]) =>
	folders.map(
		(folder): RolloutFiles => ({
			pattern: `${folder}{source}.jsonl`,
			form: 'jsonl',
			split: 'train',
			accepts: ({ source }) => source !== means,
			verbatim: 'messages',
			rollouts: skyRlRollout,
		}),
	);

async function hasEvaluation(folder: FolderView, places: readonly string[]): Promise<boolean> {
	for (const place of places) {
		for (const file of await folder.some(`${place}{source}.jsonl`, 4)) {
			const keys = topKeys((await folder.head(file.path)) ?? '');
			if (keys.has('input_prompt') && keys.has('output_response')) return true;
		}
	}
	return false;
}

const shared = [
	'There are no group ids: rollouts with the same step, data source and prompt form a group.',
	'A per-token score is shown as the sum of its parts. Advantages and tokens are not recorded.',
] as const;

export const skyRl: RunFormat = {
	name: 'skyrl',
	title: 'SkyRL',
	looksFor: 'dumped_evals/global_step_{N}_evals/{source}.jsonl with input_prompt and output_response in its rows',
	hasSteps: true,
	rollouts: rolloutsIn(stepFolders),
	metrics: stepFolders.map((folder) => ({ pattern: `${folder}${means}.jsonl`, form: 'jsonl', metrics: skyRlMeans })),
	notes: ['SkyRL writes only evaluation rollouts, which are shown at each step.', ...shared],
	recognize: (folder) => hasEvaluation(folder, stepFolders),
	async describe(folder) {
		if (!(await hasEvaluation(folder, standaloneFolders))) return {};
		return {
			notes: [
				`The folder also contains a standalone evaluation (eval_only), which has no step: open it as "${skyRlEvaluation.title}".`,
			],
		};
	},
};

/** Maximum number of means to list. */
const maxMeans = 20;

export const skyRlEvaluation: RunFormat = {
	name: 'skyrl-eval',
	title: 'SkyRL, standalone evaluation',
	looksFor: 'dumped_evals/eval_only/{source}.jsonl with input_prompt and output_response in its rows',
	hasSteps: false,
	rollouts: rolloutsIn(standaloneFolders),
	metrics: [],
	notes: [
		'A standalone evaluation (eval_only) has no step. The means that SkyRL computed are shown as notes.',
		...shared,
	],
	recognize: (folder) => hasEvaluation(folder, standaloneFolders),
	async describe(folder) {
		for (const place of standaloneFolders) {
			const computed = Object.entries(scoresOf(await folder.json(`${place}${means}.jsonl`)));
			const known = computed.flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`]));
			if (known.length > 0) return { notes: [`SkyRL's means: ${known.slice(0, maxMeans).join(', ')}.`] };
		}
		return {};
	},
};
