/**
 * Estimators of KL(policy || reference) for a token sampled from the policy, based on log-probabilities in nats
 * (Schulman 2020, "Approximating KL divergence"). With r = reference / policy: k1 = -log r, k2 = (log r)^2 / 2, k3 = r
 * - 1 - log r. k3 is DeepSeekMath's equation 4 and is used in the GRPO loss.
 */
export type KlEstimator = 'k1' | 'k2' | 'k3';

export function klEstimate(estimator: KlEstimator, logprob: number, refLogprob: number): number {
	const logRatio = refLogprob - logprob;
	switch (estimator) {
		case 'k1':
			return -logRatio;
		case 'k2':
			return (logRatio * logRatio) / 2;
		case 'k3':
			// expm1 remains accurate for small differences, where exp(x) - 1 suffers from cancellation.
			return Math.expm1(logRatio) - logRatio;
	}
}
