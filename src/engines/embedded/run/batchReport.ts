import { type RewardGroups, rolloutMetrics } from '../../../core/grpo/rolloutMetrics.ts';
import type { Metrics } from '../../../core/grpo/stepMetrics.ts';
import type { PerToken } from '../learner.ts';
import type { GenerationBatch, SamplingStage } from './generationBatch.ts';
import { rolloutLines } from './rolloutLines.ts';
import type { StageHost } from './stageHost.ts';
import type { TrainingRow } from './trainingRow.ts';

/** So many batches without any advantage are worth a word. */
const barrenBatches = 10;

/** Says it when nothing is learned for a while, because no completion of a prompt is better than another. */
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

/** A row with its log-probabilities by the training graph, under the policy that sampled it. */
export interface GraphRow {
	readonly row: TrainingRow;
	readonly logprobs: PerToken;
}

/** How far the sampler's log-probabilities are from the training graph's, over the rows of a first update. */
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

/** Starts writing the rollouts of a batch, before its first update, where the recipe wants them. */
export function writeBatch(host: StageHost, stage: SamplingStage, rows: readonly TrainingRow[]): void {
	const { parts, progress } = host;
	if ((progress.generations - 1) % parts.recipe.log.rolloutsEvery !== 0) return;
	// Made now, written meanwhile: the updates that follow change what the lines are made of.
	host.writeRollouts(progress.step + 1, [...rolloutLines(host, stage, rows)]);
}

/** Adds what is told of a batch to the metrics of its first update. */
export function addBatchMetrics(
	{ parts }: StageHost,
	metrics: Metrics,
	about: {
		readonly batch: GenerationBatch;
		readonly rows: readonly TrainingRow[];
		/** null: rewards are not compared within groups. */
		readonly groups: RewardGroups | null;
		readonly generateSeconds: number;
		/** The rows of the update. */
		readonly graph: readonly GraphRow[];
	},
): void {
	const { batch, rows, groups, generateSeconds, graph } = about;
	Object.assign(
		metrics,
		// A reward cannot write over a metric of the run: those of the update are there, the others come after.
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
