import { Random } from '../../../base/random.ts';
import { countTokens, isSkippable, tokenWeights } from '../../../core/grpo/lossWeights.ts';
import type { SamplerRow } from '../../../core/grpo/objective/samplerCorrection.ts';
import type { ResolvedGrpoStage } from '../../../core/recipe/resolvedRecipe.ts';
import type { PerToken } from '../learner.ts';
import { hasEntropyBonus } from './entropyBonusOf.ts';
import type { GenerationBatch } from './generationBatch.ts';
import { learnsObservations } from './observationTerms.ts';
import type { Rollout } from './rollout.ts';
import { trainedLength } from './trainedTokens.ts';

/** A rollout as used by the updates of its batch. */
export interface TrainingRow {
	readonly rollout: Rollout;
	readonly advantage: number;
	/**
	 * Whether the row is excluded from the loss: it was truncated under `mask_truncated_completions`, or its episode
	 * failed.
	 */
	readonly masked: boolean;
	/** Number of completion tokens that the policy wrote, as TRL counts them. */
	readonly length: number;
	/**
	 * Log-probabilities of all completion tokens under the sampling policy, computed by the training graph; null until
	 * known.
	 */
	oldLogprobs: PerToken | null;
	refLogprobs: PerToken | null;
	/** Sampler data for the objective, for tokens written by the policy; absent without a correction. */
	sampler?: SamplerRow;
}

/** Shuffles advantages for `control: shuffle`. */
export function shuffled(advantages: Float64Array, seed: number, generation: number): number[] {
	const order = [...advantages];
	Random.of(seed, 'control', generation).shuffle(order);
	return order;
}

/** Returns the rows of a batch with their advantages. */
export function trainingRows(
	stage: { readonly mask_truncated_completions: boolean },
	batch: GenerationBatch,
	advantages: ArrayLike<number>,
): TrainingRow[] {
	return batch.rollouts.map((rollout, i) => ({
		rollout,
		advantage: advantages[i] as number,
		masked: (stage.mask_truncated_completions && rollout.sample.truncated) || rollout.episode?.error !== undefined,
		length: trainedLength(rollout.sample),
		oldLogprobs: null,
		refLogprobs: null,
	}));
}

/** Splits a batch into `steps_per_generation` parts. With several parts, rows are shuffled first, as in TRL. */
export function partition<Row>(rows: readonly Row[], parts: number, seed: number, generation: number): Row[][] {
	const order = [...rows];
	if (parts > 1) Random.of(seed, 'parts', generation).shuffle(order);
	return Array.from({ length: parts }, (_, p) =>
		order.slice(Math.floor((p * order.length) / parts), Math.floor(((p + 1) * order.length) / parts)),
	);
}

/** Rows for one update in a batch. */
export interface Part {
	/** All rows, including skipped ones. Used for metrics. */
	readonly rows: readonly TrainingRow[];
	/** Rows needed by the update, with their token weights. */
	readonly kept: readonly { readonly row: TrainingRow; readonly weight: number }[];
}

/** Computes each part's token weights and the rows its update can skip. */
export function weigh(stage: ResolvedGrpoStage, parts: readonly TrainingRow[][]): Part[] {
	const generationTokens = countTokens(parts.flat());
	const others = [stage.beta, Number(hasEntropyBonus(stage)), stage.kl_cov_ratio ?? 0];
	return parts.map((rows) => {
		const weights = tokenWeights(rows, {
			lossType: stage.loss_type,
			maxCompletionLength: stage.max_completion_length,
			generationTokens,
			stepsPerGeneration: stage.steps_per_generation,
		});
		const weighed = rows.map((row, i) => ({ row, weight: weights[i] as number }));
		const kept = stage.skip_dead_groups
			? weighed.filter(
					({ row, weight }) =>
						!isSkippable({ weight, advantage: row.advantage }, ...others) || learnsObservations(stage, row),
				)
			: weighed;
		return { rows, kept };
	});
}
