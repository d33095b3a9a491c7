import { Random } from '../../../base/random.ts';
import { countTokens, isSkippable, tokenWeights } from '../../../core/grpo/lossWeights.ts';
import type { SamplerRow } from '../../../core/grpo/objective/samplerCorrection.ts';
import type { ResolvedGrpoStage } from '../../../core/recipe/resolvedRecipe.ts';
import type { PerToken } from '../learner.ts';
import type { RowAdvantage } from './advantagesOf.ts';
import { hasEntropyBonus } from './entropyBonusOf.ts';
import { tokensOfTurns } from './episodes/turnCredit.ts';
import type { GenerationBatch } from './generationBatch.ts';
import { learnsObservations } from './observationTerms.ts';
import type { Rollout } from './rollout.ts';
import { trainedLength } from './trainedTokens.ts';

/** A rollout as used by the updates of its batch. */
export interface TrainingRow {
	readonly rollout: Rollout;
	/** If turns have their own advantages, the mean over the tokens that the policy wrote. */
	readonly advantage: number;
	/** Advantages of the tokens that the policy wrote; absent if all of them have that of the row. */
	readonly tokenAdvantages?: PerToken;
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

/** Shuffles the advantages of completions, or of turns, for `control: shuffle`. */
export function shuffled(advantages: readonly RowAdvantage[], seed: number, generation: number): RowAdvantage[] {
	const order = advantages.flatMap((one) => (typeof one === 'number' ? [one] : [...one]));
	Random.of(seed, 'control', generation).shuffle(order);
	let next = 0;
	return advantages.map((one) =>
		typeof one === 'number' ? (order[next++] as number) : one.map(() => order[next++] as number),
	);
}

function advantageOf({ sample }: Rollout, own: RowAdvantage): Pick<TrainingRow, 'advantage' | 'tokenAdvantages'> {
	if (typeof own === 'number') return { advantage: own };
	const tokenAdvantages = tokensOfTurns(sample, own);
	const sum = tokenAdvantages.reduce((total, one) => total + one, 0);
	return { advantage: tokenAdvantages.length === 0 ? 0 : sum / tokenAdvantages.length, tokenAdvantages };
}

/** Returns the rows of a batch with their advantages. */
export function trainingRows(
	stage: { readonly mask_truncated_completions: boolean },
	batch: GenerationBatch,
	advantages: ArrayLike<RowAdvantage>,
): TrainingRow[] {
	return batch.rollouts.map((rollout, i) => ({
		rollout,
		...advantageOf(rollout, advantages[i] as RowAdvantage),
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

/** Returns the absolute value of the largest advantage of a row's tokens. */
const largestAdvantage = ({ advantage, tokenAdvantages }: TrainingRow): number =>
	Array.from(tokenAdvantages ?? [advantage]).reduce((max, one) => Math.max(max, Math.abs(one)), 0);

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
						!isSkippable({ weight, advantage: largestAdvantage(row) }, ...others) || learnsObservations(stage, row),
				)
			: weighed;
		return { rows, kept };
	});
}
