/** A completion in an update. Arrays have one entry per token. */
export interface ObservedRow {
	/** 1 for tokens written by an environment, 0 for tokens written by the policy. */
	readonly observed: ArrayLike<number>;
}

/** Returns the number of tokens written by an environment. */
const countObserved = (rows: readonly ObservedRow[]): number =>
	rows.reduce((sum, { observed }) => sum + Array.from(observed).reduce((a, b) => a + b, 0), 0);

/**
 * ECHO's loss on observations: the coefficient times the mean of -logprob under the policy, over all tokens in an
 * update that were written by an environment. It teaches the policy to predict the effects of its actions, even from
 * episodes without a reward. Shrivastava et al. 2026, "Terminal Agents Learn World Models for Free" (arXiv:2605.24517),
 * equation for L_ECHO; averaged over tokens, the default of the authors' `compute_world_model_loss`.
 * @returns for each row, the weight of each token's -logprob
 */
export function observationWeights(rows: readonly ObservedRow[], coefficient: number): Float32Array[] {
	const weight = coefficient / Math.max(1, countObserved(rows));
	return rows.map(({ observed }) => Float32Array.from(observed, (one) => one * weight));
}

/**
 * Returns the mean of -logprob over the tokens written by an environment, in nats; null if there are none.
 * @param rows every token's log-probability under the policy
 */
export function observationSurprise(
	rows: readonly (ObservedRow & { readonly logprobs: ArrayLike<number> })[],
): number | null {
	const count = countObserved(rows);
	if (count === 0) return null;
	let sum = 0;
	for (const { observed, logprobs } of rows) {
		for (let t = 0; t < observed.length; t++) if (observed[t] === 1) sum -= logprobs[t] as number;
	}
	return sum / count;
}
