import { Random } from '../../../base/random.ts';
import { countTokens, isSkippable, tokenWeights } from '../../../core/grpo/lossWeights.ts';
import type { ResolvedGrpoStage } from '../../../core/recipe/resolvedRecipe.ts';
import type { EmbeddedLossType } from '../../../protocol/groupStages.ts';
import type { PerToken } from '../learner.ts';
import type { GenerationBatch, Rollout } from './generationBatch.ts';

/** A rollout during the updates of its batch. */
export interface TrainingRow {
	readonly rollout: Rollout;
	readonly advantage: number;
	/** Truncated under `mask_truncated_completions`: excluded from the loss. */
	readonly masked: boolean;
	/** Completion tokens. */
	readonly length: number;
	/** Under the sampling policy, by the training graph; null while unknown. */
	oldLogprobs: PerToken | null;
	refLogprobs: PerToken | null;
}

/** Shuffles advantages, for `control: shuffle`. */
export function shuffled(advantages: Float64Array, seed: number, generation: number): number[] {
	const order = [...advantages];
	Random.of(seed, 'control', generation).shuffle(order);
	return order;
}

/** The rows of a batch with their advantages. */
export function trainingRows(
	stage: { readonly mask_truncated_completions: boolean },
	batch: GenerationBatch,
	advantages: ArrayLike<number>,
): TrainingRow[] {
	return batch.rollouts.map((rollout, i) => ({
		rollout,
		advantage: advantages[i] as number,
		masked: stage.mask_truncated_completions && rollout.sample.truncated,
		length: rollout.sample.tokens.length - rollout.sample.promptLength,
		oldLogprobs: null,
		refLogprobs: null,
	}));
}

/** Splits the batch into `steps_per_generation` parts, shuffled as in TRL if there are several. */
export function partition<Row>(rows: readonly Row[], parts: number, seed: number, generation: number): Row[][] {
	const order = [...rows];
	if (parts > 1) Random.of(seed, 'parts', generation).shuffle(order);
	return Array.from({ length: parts }, (_, p) =>
		order.slice(Math.floor((p * order.length) / parts), Math.floor(((p + 1) * order.length) / parts)),
	);
}

/** The rows of one update of a batch. */
export interface Part {
	/** All of its rows, as counted by metrics. */
	readonly rows: readonly TrainingRow[];
	/** Rows that the update needs, with their token weights. */
	readonly kept: readonly { readonly row: TrainingRow; readonly weight: number }[];
}

/** Computes the token weights of each part, and which rows its update can skip. */
export function weigh(stage: ResolvedGrpoStage, parts: readonly TrainingRow[][]): Part[] {
	const generationTokens = countTokens(parts.flat());
	return parts.map((rows) => {
		const weights = tokenWeights(rows, {
			// Others are rejected at the start.
			lossType: stage.loss_type as EmbeddedLossType,
			maxCompletionLength: stage.max_completion_length,
			generationTokens,
			stepsPerGeneration: stage.steps_per_generation,
		});
		const weighed = rows.map((row, i) => ({ row, weight: weights[i] as number }));
		const kept = stage.skip_dead_groups
			? weighed.filter(({ row, weight }) => !isSkippable({ weight, advantage: row.advantage }, stage.beta))
			: weighed;
		return { rows, kept };
	});
}
