import type { CorrectionMode } from '../../../protocol/recipeKeys/samplerKeys.ts';

/**
 * Corrects for samples from a different policy than the one being trained: stale weights, or another engine. The loss
 * of each token is multiplied by the ratio old policy / sampler, or by that of its completion (the product over its
 * tokens).
 *
 * - `*_truncate`: the ratio is clipped to its bounds. Truncated importance sampling, TIS (Yao et al. 2025, "Your
 *   efficient RL framework secretly brings you off-policy RL training").
 * - `*_mask`: tokens or completions whose ratio is out of bounds are excluded. With both bounds, `token_mask` is IcePop
 *   (Ring-1T, 2025, arXiv:2510.18855, section 3), and `sequence_mask` is masked importance sampling.
 *
 * TRL 1.13, `vllm_importance_sampling_correction`.
 */
export interface SamplerCorrection {
	readonly mode: CorrectionMode;
	/** Bounds of the ratio; null for none. */
	readonly min: number | null;
	readonly max: number | null;
}

/** TRL's defaults (GRPOConfig, 1.13). */
export const correctionDefaults: SamplerCorrection = { mode: 'sequence_mask', min: null, max: 3 };

/** A completion. Arrays have one entry per token, in nats. */
export interface CorrectedRow {
	/** Log-probabilities before the first update of the batch. */
	readonly oldLogprobs: ArrayLike<number>;
	readonly samplerLogprobs: ArrayLike<number>;
}

/** Data about the policy that sampled a completion; absent if it is the old policy. */
export interface SamplerRow {
	/** See {@link samplerRatios}; absent with vespo. */
	readonly samplerRatios?: ArrayLike<number> | undefined;
	/** See {@link samplerLogRatio}; only with vespo. */
	readonly samplerLogRatio?: number | undefined;
	/** See {@link samplerDrift}; only with a threshold for off-policy completions. */
	readonly samplerDrift?: number | undefined;
}

export const isPerCompletion = ({ mode }: SamplerCorrection): boolean => mode.startsWith('sequence');

/** Returns the factor of each token's loss. */
export function samplerRatios(row: CorrectedRow, correction: SamplerCorrection): Float64Array {
	const { mode, min, max } = correction;
	const [low, high] = [min ?? Number.NEGATIVE_INFINITY, max ?? Number.POSITIVE_INFINITY];
	const bounded = (ratio: number) => {
		if (mode.endsWith('truncate')) return Math.min(Math.max(ratio, low), high);
		return ratio < low || ratio > high ? 0 : ratio;
	};
	const changes = Float64Array.from(row.oldLogprobs, (old, t) => old - (row.samplerLogprobs[t] as number));
	if (!isPerCompletion(correction)) return changes.map((change) => bounded(Math.exp(change)));
	const sum = changes.reduce((a, b) => a + b, 0);
	return changes.fill(bounded(Math.exp(sum)));
}

/** Bounds of a token's log ratio in VESPO's weight. */
const logBounds = { low: Math.log(1e-8), high: 20 };

/** Returns the correction term for the log ratio of a completion in VESPO's weight (`vespoWeight`), in nats. */
export function samplerLogRatio(row: CorrectedRow, correction: SamplerCorrection): number {
	const { low, high } = logBounds;
	return samplerRatios(row, correction).reduce((sum, ratio) => sum + Math.min(Math.max(Math.log(ratio), low), high), 0);
}

/** Returns the mean over tokens of log(sampler / old policy), which `isOffPolicy` adds to the drift since then. */
export function samplerDrift({ oldLogprobs, samplerLogprobs }: CorrectedRow): number {
	let sum = 0;
	for (let t = 0; t < oldLogprobs.length; t++) sum += (samplerLogprobs[t] as number) - (oldLogprobs[t] as number);
	return sum / Math.max(1, oldLogprobs.length);
}
