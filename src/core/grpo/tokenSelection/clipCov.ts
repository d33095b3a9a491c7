import type { Random } from '../../../base/random.ts';
import { type CovariantToken, covariances } from './covariance.ts';

export interface ClipCovSettings {
	/** Fraction of all tokens to exclude; at least one token if any qualifies. */
	readonly ratio: number;
	/** Exclusive bounds on the covariance of qualifying tokens. */
	readonly lowest: number;
	readonly highest: number;
}

/** verl's defaults, which match the paper. */
export const clipCovDefaults = { lowest: 1, highest: 5 };

export interface ClippableToken extends CovariantToken {
	/** Whether ratio clipping already removes its gradient. */
	readonly clipped: boolean;
}

/**
 * Clip-Cov: the tokens that reduce entropy most are those whose advantage and log-probability covary strongly, so a few
 * of them, chosen at random, are excluded from the loss. Cui et al. 2025 (arXiv:2505.22617); verl's `clip_cov`.
 * @param tokens all tokens in an update
 * @returns indices of the excluded tokens, in the order in which they were drawn
 */
export function clippedByCovariance(
	tokens: readonly ClippableToken[],
	{ ratio, lowest, highest }: ClipCovSettings,
	random: Random,
): number[] {
	const values = covariances(tokens);
	const qualified = [...tokens.keys()].filter((i) => {
		const value = values[i] as number;
		return tokens[i]?.clipped === false && value > lowest && value < highest;
	});
	random.shuffle(qualified);
	return qualified.slice(0, Math.max(1, Math.floor(ratio * tokens.length)));
}
