import type { LossType } from '../../protocol/recipeKeys/lossTypes.ts';

/** Row properties needed to normalize the loss. */
export interface LossRow {
	/** Number of completion tokens, including end-of-sequence. */
	readonly length: number;
	/**
	 * Whether the row is excluded from the loss (truncated under `mask_truncated_completions`). It still counts as a row.
	 */
	readonly masked: boolean;
}

export interface LossNormalization {
	readonly lossType: LossType;
	/** Divisor for dr_grpo. */
	readonly maxCompletionLength: number;
	/**
	 * For dapo, cispo, and vespo: number of unmasked completion tokens in the entire generation batch, across all of
	 * its parts.
	 */
	readonly generationTokens: number;
	/** For dapo, cispo, and vespo: number of updates into which the generation batch is split. */
	readonly stepsPerGeneration: number;
}

/** Counts the completion tokens that contribute to the loss. */
export function countTokens(rows: readonly LossRow[]): number {
	let tokens = 0;
	for (const row of rows) if (!row.masked) tokens += row.length;
	return tokens;
}

/**
 * Returns the token weight of each row in an update, chosen so that the sum over tokens of weight * tokenLoss equals
 * the loss from TRL 1.13's `GRPOTrainer._compute_loss` on one process without gradient accumulation:
 * - `grpo`, `sapo`, `gmpo` 1 / (rows * |o_i|): DeepSeekMath (Shao et al. 2024) equation 3
 * - `bnpo` 1 / tokens in the update
 * - `dr_grpo` 1 / (rows * max_completion_length): Dr. GRPO (Liu et al. 2025)
 * - `dapo`, `cispo`, `vespo` 1 / (tokens in the generation batch / steps_per_generation): DAPO (Yu et al. 2025)
 *   equation 8
 * - `luspo` 1 / rows, so that a completion counts in proportion to its length (LUSPO, arXiv:2602.05261)
 *
 * Pass all rows of the update, including skipped ones, because they count in the denominators. All tokens in a row
 * share one weight; masked rows have weight 0.
 */
export function tokenWeights(rows: readonly LossRow[], by: LossNormalization): Float64Array {
	const tokens = Math.max(1, countTokens(rows));
	return Float64Array.from(rows, (row) => {
		if (row.masked) return 0;
		switch (by.lossType) {
			case 'grpo':
			case 'sapo':
			case 'gmpo':
				return 1 / (rows.length * Math.max(1, row.length));
			case 'bnpo':
				return 1 / tokens;
			case 'dr_grpo':
				return 1 / (rows.length * by.maxCompletionLength);
			case 'dapo':
			case 'cispo':
			case 'dppo_tv':
			case 'dppo_kl':
			case 'vespo':
				return by.stepsPerGeneration / Math.max(1, by.generationTokens);
			case 'luspo':
				return 1 / rows.length;
		}
	});
}

/**
 * Returns whether removing the row leaves the loss and gradient unchanged (metrics that count rows can still change).
 * @param others weights of the terms that do not depend on the advantage: KL, entropy, and penalties
 */
export function isSkippable(
	row: { readonly weight: number; readonly advantage: number },
	...others: readonly number[]
): boolean {
	return row.weight === 0 || (row.advantage === 0 && others.every((weight) => weight === 0));
}
