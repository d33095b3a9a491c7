import { textNotRecorded } from '../../../protocol/rolloutLine.ts';
import { rolloutSplits } from '../../../protocol/rolloutSplit.ts';
import type { ForeignMetrics, ForeignRollout } from '../foreignRecord.ts';
import {
	extraOf,
	type Fields,
	fieldsOf,
	given,
	integerOf,
	listOf,
	numberOf,
	scoresOf,
	sumOf,
	textOf,
	weightsSpan,
} from '../foreignValues.ts';
import type { RecordContext, RolloutFiles, RunFormat } from '../runFormat.ts';
import { topKeys } from '../topKeys.ts';
import { loggedTexts, textOfTurn, turnKey } from './tinkerLogtree.ts';

/*
 * tinker_cookbook/rl/rollout_logging.py: one summary per trajectory, with lengths and rewards but without text. The
 * text of the first groups is in the logtree next to it.
 */

const summaries = 'iteration_{step}/{source}_rollout_summaries.jsonl';

/** Returns the step metrics, each averaged over the steps that have it, and the trajectory metrics. */
function measured(summary: Fields, steps: readonly Fields[]): Record<string, number | null> {
	const values = new Map<string, number[]>();
	for (const step of steps) {
		for (const [name, value] of Object.entries(scoresOf(step.metrics))) {
			const known = values.get(name) ?? [];
			if (value !== null) known.push(value);
			values.set(name, known);
		}
	}
	const means = [...values].map(([name, all]) => {
		const sum = sumOf(all);
		return [name, sum === null ? null : sum / all.length] as const;
	});
	return { ...Object.fromEntries(means), ...scoresOf(summary.trajectory_metrics) };
}

export function tinkerSummary(record: unknown, context: RecordContext): readonly ForeignRollout[] | string {
	const summary = fieldsOf(record);
	if (!summary) return 'is not an object';
	const group = integerOf(summary.group_idx);
	const trajectory = integerOf(summary.traj_idx);
	if (group === null || trajectory === null) return 'has no group_idx or traj_idx';
	if (summary.total_reward === undefined) return 'has no total_reward';
	const steps = listOf(summary.steps)
		.map(fieldsOf)
		.filter((step) => step !== null);
	const [first] = steps;
	const key = turnKey(trajectory, numberOf(first?.ob_len), numberOf(first?.ac_len));
	const text = steps.length === 1 ? textOfTurn(context.companion?.(key), group, numberOf(first?.reward)) : null;
	const { source } = context.parts;
	// Samples of iteration N train the weights after N updates. Samples from other sources are not trained on.
	const trained = source === undefined || source === 'train' ? (context.step ?? integerOf(summary.iteration)) : null;
	const logs = steps.map((step) => step.logs).filter((entry) => Object.keys(fieldsOf(entry) ?? {}).length > 0);
	return [
		{
			groupKey: source === undefined || source === 'train' ? group : `${source} ${group}`,
			step: context.step ?? integerOf(summary.iteration),
			prompt: text ? [...text.prompt] : '',
			completion: text ? [...text.completion] : '',
			rewards: measured(summary, steps),
			reward: numberOf(summary.total_reward),
			...(source === undefined || source === 'train' ? {} : { stage: source.replace(/^eval_/, 'eval/') }),
			...given(
				'extra',
				extraOf({
					length: sumOf(steps.map((step) => numberOf(step.ac_len))),
					promptLength: numberOf(first?.ob_len),
					turns: steps.length === 1 ? null : steps.length,
					groupReward: numberOf(summary.final_reward) || null,
					tags: summary.tags,
					weights: weightsSpan(summary.sampling_client_step, summary.sampling_client_step, trained),
					logs,
					text: text ? null : textNotRecorded,
				}),
			),
		},
	];
}

export function tinkerMetrics(record: unknown): readonly ForeignMetrics[] | string {
	const row = fieldsOf(record);
	if (!row) return 'is not an object';
	const step = integerOf(row.step) ?? integerOf(row['progress/batch']);
	if (step === null) return 'has no step';
	return [{ step, time: null, values: scoresOf(row, (name) => name !== 'step') }];
}

export const tinker: RunFormat = {
	name: 'tinker',
	title: 'Tinker cookbook',
	looksFor: 'iteration_{N}/train_rollout_summaries.jsonl, or metrics.jsonl next to checkpoints.jsonl in a Tinker run',
	hasSteps: true,
	rollouts: rolloutSplits.map(
		(split): RolloutFiles => ({
			pattern: summaries,
			form: 'jsonl',
			split,
			accepts: ({ source }) => (source === 'train') === (split === 'train'),
			companion: { pattern: 'iteration_{step}/{source}_logtree.json', form: 'json', entries: loggedTexts },
			rollouts: tinkerSummary,
		}),
	),
	metrics: [{ pattern: 'metrics.jsonl', form: 'jsonl', metrics: tinkerMetrics }],
	notes: [
		'Tinker writes rewards and lengths for all rollouts, but its log contains text only for the first groups in an iteration.',
		'The log does not record which rollout in a group a piece of text belongs to, so text is matched to rollouts by reward and length.',
		'Groups with all-equal rewards might have been filtered out. Advantages and tokens are not recorded.',
	],
	async recognize(folder) {
		if (await folder.has(summaries)) return true;
		const metrics = topKeys((await folder.head('metrics.jsonl')) ?? '');
		return metrics.has('progress/batch') && (await folder.json('config.json')) !== undefined;
	},
	async describe(folder) {
		const config = fieldsOf(await folder.json('config.json'));
		const model = textOf(config?.model_name);
		return model === null ? {} : { versions: { model } };
	},
};
