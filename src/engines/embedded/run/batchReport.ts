import { type RewardGroups, rolloutMetrics } from '../../../core/grpo/rolloutMetrics.ts';
import type { Metrics } from '../../../core/grpo/stepMetrics.ts';
import type { PerToken } from '../learner.ts';
import type { GenerationBatch, SamplingStage } from './generationBatch.ts';
import { rolloutLines } from './rolloutLines.ts';
import type { StageHost } from './stageHost.ts';
import type { TrainingRow } from './trainingRow.ts';

/** Report after this many batches without any advantage. */
const barrenBatches = 10;

/** Reports when nothing is learned for a while because all completions of a prompt have the same reward. */
export class BarrenWatch {
	readonly #host: StageHost;
	#barren = 0;

	constructor(host: StageHost) {
		this.#host = host;
	}

	/** @param dead of a batch, one per group */
	note(dead: readonly boolean[]): void {
		this.#barren = dead.every((one) => one) ? this.#barren + 1 : 0;
		if (this.#barren !== barrenBatches) return;
		const message = `In ${barrenBatches} consecutive batches, all rewards were equal within every group, so there was no gradient.`;
		this.#host.alert('warning', `${message} The problems may be too hard or too easy, or the rewards too coarse.`);
	}
}

/** A row with its log-probabilities by the training graph, under the sampling policy. */
export interface GraphRow {
	readonly row: TrainingRow;
	readonly logprobs: PerToken;
}

/** Difference of the log-probabilities of the sampler and the training graph, over the rows of a first update. */
function samplingDifference(rows: readonly GraphRow[]): Metrics {
	let sum = 0;
	let count = 0;
	let largest = 0;
	for (const { row, logprobs } of rows) {
		for (let t = 0; t < logprobs.length; t++) {
			const difference = Math.abs((logprobs[t] as number) - (row.rollout.sample.logprobs[t] as number));
			sum += difference;
			count++;
			if (difference > largest) largest = difference;
		}
	}
	return {
		'sampling/sampling_logp_difference/mean': count === 0 ? null : sum / count,
		'sampling/sampling_logp_difference/max': count === 0 ? null : largest,
	};
}

/** Starts writing the rollouts of a batch before its first update, if the recipe enables it. */
export function writeBatch(host: StageHost, stage: SamplingStage, rows: readonly TrainingRow[]): void {
	const { parts, progress } = host;
	if ((progress.generations - 1) % parts.recipe.log.rolloutsEvery !== 0) return;
	// Built now and written in the background: the following updates modify the source of the lines.
	host.writeRollouts(progress.step + 1, [...rolloutLines(host, stage, rows)]);
}

/** Adds the metrics of a batch to those of its first update. */
export function addBatchMetrics(
	{ parts }: StageHost,
	metrics: Metrics,
	about: {
		readonly batch: GenerationBatch;
		readonly rows: readonly TrainingRow[];
		/** null if rewards are not compared within groups. */
		readonly groups: RewardGroups | null;
		readonly generateSeconds: number;
		/** Rows of the update. */
		readonly graph: readonly GraphRow[];
	},
): void {
	const { batch, rows, groups, generateSeconds, graph } = about;
	Object.assign(
		metrics,
		// A reward must not overwrite metrics of the run, neither those of the update nor the ones added below.
		Object.fromEntries(Object.entries(batch.metrics).filter(([name]) => !Object.hasOwn(metrics, name))),
		rolloutMetrics(
			rows.map(({ rollout, length }) => ({
				rewards: rollout.rewards,
				reward: rollout.reward,
				length,
				truncated: rollout.sample.truncated,
			})),
			parts.rewards.scorers.map(({ column }) => column.name),
			groups,
		),
		Object.fromEntries([...batch.errors].map(([name, failed]) => [`rewards/${name}/errors`, failed])),
		samplingDifference(graph),
		{
			'throughput/completions': batch.sampled / generateSeconds,
			'throughput/tokens': batch.sampledTokens / generateSeconds,
		},
	);
}
