import { type RewardGroups, rolloutMetrics } from '../../../core/grpo/rolloutMetrics.ts';
import type { Metrics } from '../../../core/grpo/stepMetrics.ts';
import type { PerToken } from '../learner.ts';
import type { GenerationBatch } from './generationBatch.ts';
import type { SamplingStage } from './rollout.ts';
import { rolloutLines } from './rolloutLines.ts';
import type { StageHost } from './stageHost.ts';
import type { TrainingRow } from './trainingRow.ts';

/** Number of consecutive batches without a nonzero advantage after which a warning is shown. */
const barrenBatches = 10;

/** Warns when training makes no progress for a while because all completions for each prompt get the same reward. */
export class BarrenWatch {
	readonly #host: StageHost;
	#barren = 0;

	constructor(host: StageHost) {
		this.#host = host;
	}

	/** @param dead whether each group in a batch is dead */
	note(dead: readonly boolean[]): void {
		this.#barren = dead.every((one) => one) ? this.#barren + 1 : 0;
		if (this.#barren !== barrenBatches) return;
		const message = `In ${barrenBatches} consecutive batches, all rewards were equal within every group, so there was no gradient.`;
		this.#host.alert('warning', `${message} The problems may be too hard or too easy, or the rewards too coarse.`);
	}
}

/** A row with its log-probabilities under the sampling policy, computed by the training graph. */
export interface GraphRow {
	readonly row: TrainingRow;
	readonly logprobs: PerToken;
}

/** Computes the difference between sampler and training graph log-probabilities for the rows in the first update. */
function samplingDifference(rows: readonly GraphRow[]): Metrics {
	let sum = 0;
	let count = 0;
	let largest = 0;
	for (const { row, logprobs } of rows) {
		const { trained } = row.rollout.sample;
		for (let t = 0; t < logprobs.length; t++) {
			if (trained?.[t] === 0) continue;
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

/**
 * Starts writing a batch's rollouts before its first update, if the recipe enables it.
 * @param version number of updates that the sampling weights had received; null if they are those of its first update
 */
export function writeBatch(
	host: StageHost,
	stage: SamplingStage,
	rows: readonly TrainingRow[],
	version: number | null = null,
): void {
	const { parts, progress } = host;
	if ((progress.generations - 1) % parts.recipe.log.rolloutsEvery !== 0) return;
	// Build the lines now and write them in the background, because the next updates modify the data they are built from.
	host.writeRollouts(progress.step + 1, [...rolloutLines(host, stage, rows, version)]);
}

/** Adds a batch's metrics to those of its first update. */
export function addBatchMetrics(
	{ parts }: StageHost,
	metrics: Metrics,
	about: {
		readonly batch: GenerationBatch;
		readonly rows: readonly TrainingRow[];
		/** null if rewards are not compared within groups. */
		readonly groups: RewardGroups | null;
		readonly generateSeconds: number;
		/** Rows in the update. */
		readonly graph: readonly GraphRow[];
	},
): void {
	const { batch, rows, groups, generateSeconds, graph } = about;
	Object.assign(
		metrics,
		// Reward metrics must not overwrite run metrics, whether they come from the update or are added below.
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
