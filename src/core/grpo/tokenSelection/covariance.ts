/** A token in an update. */
export interface CovariantToken {
	readonly advantage: number;
	/** Log-probability under the current policy. */
	readonly logprob: number;
}

/**
 * Returns the covariance of each token, (A - mean A) (logprob - mean logprob), with means over all tokens. It measures
 * how much the token lowers the entropy. Cui et al. 2025, "The Entropy Mechanism of Reinforcement Learning"
 * (arXiv:2505.22617).
 */
export function covariances(tokens: readonly CovariantToken[]): number[] {
	const mean = (of: (token: CovariantToken) => number) =>
		tokens.reduce((sum, token) => sum + of(token), 0) / tokens.length;
	const [advantage, logprob] = [mean((token) => token.advantage), mean((token) => token.logprob)];
	return tokens.map((token) => (token.advantage - advantage) * (token.logprob - logprob));
}
