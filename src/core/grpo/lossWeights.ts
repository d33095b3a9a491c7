import type { EmbeddedLossType } from '../../protocol/groupStages.ts';

/** What the normalization of the loss needs to know about a row. */
export interface LossRow {
	/** Completion tokens, end-of-sequence included. */
	readonly length: number;
	/** Left out of the loss: truncated under `mask_truncated_completions`. It still counts as a row. */
	readonly masked: boolean;
}

export interface LossNormalization {
	readonly lossType: EmbeddedLossType;
	/** dr_grpo divides by it. */
	readonly maxCompletionLength: number;
	/** dapo: unmasked completion tokens of the whole generation batch, all its parts together. */
	readonly generationTokens: number;
	/** dapo: into how many updates the generation batch is split. */
	readonly stepsPerGeneration: number;
}

/** Completion tokens that count in the loss. */
export function countTokens(rows: readonly LossRow[]): number {
	let tokens = 0;
	for (const row of rows) if (!row.masked) tokens += row.length;
	return tokens;
}

/**
 * The weight of each token of each row of one update, so that loss = sum over tokens of weight * tokenLoss equals that
 * of TRL 1.13's `GRPOTrainer._compute_loss` on one process without gradient accumulation:
 * - `grpo` 1 / (rows * |o_i|): DeepSeekMath (Shao et al. 2024) equation 3
 * - `bnpo` 1 / tokens of the update
 * - `dr_grpo` 1 / (rows * max_completion_length): Dr. GRPO (Liu et al. 2025)
 * - `dapo` 1 / (tokens of the generation batch / steps_per_generation): DAPO (Yu et al. 2025) equation 8
 *
 * All rows of the update must be given, including skipped ones, because they count in the denominators. The tokens of a
 * row share one weight; a masked row has 0.
 */
export function tokenWeights(rows: readonly LossRow[], by: LossNormalization): Float64Array {
	const tokens = Math.max(1, countTokens(rows));
	return Float64Array.from(rows, (row) => {
		if (row.masked) return 0;
		switch (by.lossType) {
			case 'grpo':
				return 1 / (rows.length * Math.max(1, row.length));
			case 'bnpo':
				return 1 / tokens;
			case 'dr_grpo':
				return 1 / (rows.length * by.maxCompletionLength);
			case 'dapo':
				return by.stepsPerGeneration / Math.max(1, by.generationTokens);
		}
	});
}

/** Whether removing the row from the update changes neither loss nor gradient (except the metrics that count it). */
export function isSkippable(row: { readonly weight: number; readonly advantage: number }, beta: number): boolean {
	return row.weight === 0 || (row.advantage === 0 && beta === 0);
}
