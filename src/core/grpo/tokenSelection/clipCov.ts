import type { Random } from '../../../base/random.ts';

export interface ClipCovSettings {
	/** Share of all tokens that is excluded; at least one token is, if any qualifies. */
	readonly ratio: number;
	/** Bounds of the covariances of tokens that qualify, exclusive. */
	readonly lowest: number;
	readonly highest: number;
}

/** verl's defaults, which are those of the paper. */
export const clipCovDefaults = { lowest: 1, highest: 5 };

export interface CovariantToken {
	readonly advantage: number;
	/** Log-probability under the current policy. */
	readonly logprob: number;
	/** Whether clipping of the ratio already removes its gradient. */
	readonly clipped: boolean;
}

/**
 * Clip-Cov: tokens whose advantage and log-probability covary strongly reduce entropy most, so a few of them, chosen at
 * random, are excluded from the loss. The covariance of a token is (A - mean A) (logprob - mean logprob), with means over
 * all tokens. Cui et al. 2025 (arXiv:2505.22617); verl's `clip_cov`.
 * @param tokens all tokens of an update
 * @returns indices of the excluded tokens, in the order in which they were drawn
 */
export function clippedByCovariance(
	tokens: readonly CovariantToken[],
	{ ratio, lowest, highest }: ClipCovSettings,
	random: Random,
): number[] {
	const mean = (of: (token: CovariantToken) => number) =>
		tokens.reduce((sum, token) => sum + of(token), 0) / tokens.length;
	const [advantage, logprob] = [mean((token) => token.advantage), mean((token) => token.logprob)];
	const qualified = [...tokens.keys()].filter((i) => {
		const token = tokens[i] as CovariantToken;
		const covariance = (token.advantage - advantage) * (token.logprob - logprob);
		return !token.clipped && covariance > lowest && covariance < highest;
	});
	random.shuffle(qualified);
	return qualified.slice(0, Math.max(1, Math.floor(ratio * tokens.length)));
}
