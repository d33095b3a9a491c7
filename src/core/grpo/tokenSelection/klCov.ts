import { type CovariantToken, covariances } from './covariance.ts';

/** verl's default. */
export const klCovCoefficient = 1;

/**
 * KL-Cov: returns the indices of the given fraction of tokens (at least one) whose advantage and log-probability covary
 * most. Their loss has an additional term, coefficient |log ratio|, and no ratio is clipped. Cui et al. 2025
 * (arXiv:2505.22617); verl's `kl_cov`.
 * @param tokens all tokens in an update; not empty
 */
export function mostCovariant(tokens: readonly CovariantToken[], share: number): number[] {
	const values = covariances(tokens);
	const order = [...values.keys()].sort((a, b) => (values[b] as number) - (values[a] as number));
	return order.slice(0, Math.max(1, Math.floor(share * tokens.length)));
}
