import type { LossType } from '../../../protocol/recipeKeys/lossTypes.ts';
import type { SamplerCorrection, SamplerRow } from './samplerCorrection.ts';

/** Tokens over which an importance ratio is computed; see `importanceRatio.ts`. */
export type RatioLevel = 'token' | 'sequence' | 'sequence_token';

/** Loss settings for a GRPO update. Named after the recipe keys, in camel case. */
export interface Objective {
	readonly lossType: LossType;
	readonly level: RatioLevel;
	readonly epsilonLow: number;
	readonly epsilonHigh: number;
	/** Weight of the KL term. 0 omits it. */
	readonly beta: number;
	/** Maximum ratio, even where clipping does not apply; null for none. INTELLECT-2 (2025, arXiv:2505.07291), section 3.4. */
	readonly delta: number | null;
	/** Whether the KL term is multiplied by the ratio to unbias its gradient: DeepSeek-V3.2 (2512.02556), section 3.1. */
	readonly unbiasedKl: boolean;
	/** See `isOffPolicy`; null keeps all completions. */
	readonly offPolicyThreshold: number | null;
	/** Correction for samples from a different policy; null for none. */
	readonly samplerCorrection: SamplerCorrection | null;
	readonly sapo: SapoTemperatures;
	readonly vespo: VespoShape;
}

export interface SapoTemperatures {
	readonly positive: number;
	readonly negative: number;
}

/** Exponents and rates of VESPO's weight, by the sign of the advantage. */
export interface VespoShape {
	readonly kPositive: number;
	readonly lambdaPositive: number;
	readonly kNegative: number;
	readonly lambdaNegative: number;
}

/** TRL's defaults (GRPOConfig, 1.13). */
export const sapoDefaults: SapoTemperatures = { positive: 1, negative: 1.05 };
export const vespoDefaults: VespoShape = { kPositive: 2, lambdaPositive: 3, kNegative: 3, lambdaNegative: 2 };

/** Clipped token ratios without a KL term, with TRL's defaults. */
export const defaultObjective: Objective = {
	lossType: 'dapo',
	level: 'token',
	epsilonLow: 0.2,
	epsilonHigh: 0.2,
	beta: 0,
	delta: null,
	unbiasedKl: false,
	offPolicyThreshold: null,
	samplerCorrection: null,
	sapo: sapoDefaults,
	vespo: vespoDefaults,
};

/** A completion. Arrays have one entry per token, in nats. */
export interface ObjectiveRow extends SamplerRow {
	readonly logprobs: ArrayLike<number>;
	/** Log-probabilities before the first update of the batch, or null if identical to `logprobs`. */
	readonly oldLogprobs: ArrayLike<number> | null;
	/** Log-probabilities under the reference policy. Not used if beta is 0. */
	readonly refLogprobs: ArrayLike<number> | null;
	readonly advantage: number;
	/** Factors of the surrogate loss, at least 0; absent for 1. See `tokenFactors`. */
	readonly factors?: ArrayLike<number> | null;
	/** Coefficients of |log ratio| in the loss, in nats; absent for none. See `tokenPenalties`. */
	readonly penalties?: ArrayLike<number> | null;
}

/** Loss and derivatives for one token. */
export interface TokenTerm {
	readonly loss: number;
	/** d loss / d log ratio, where the loss depends on the policy through the ratio. */
	readonly slope: number;
	/** d loss / d logprob of this token, where the loss depends on it directly. */
	readonly direct: number;
}

/** Loss of each token in a row, and the gradient of their sum with respect to each token's log-probability. */
export interface RowLoss {
	readonly losses: Float64Array;
	readonly gradients: Float64Array;
}
