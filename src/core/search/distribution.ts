/** Dispersion statistics of a next-token distribution. */
export interface DistributionStatistics {
	/** Mean surprisal, -sum p log p (Shannon 1948), in nats: 0 for a single possible token, log n if uniform. */
	readonly entropy: number;
	/** Variance of the surprisal, sum p (log p + entropy)^2, in nats^2: 0 if all possible tokens are equally likely. */
	readonly varentropy: number;
	/**
	 * Gini coefficient of the n probabilities, their mean absolute difference divided by twice their mean: 0 if flat, 1 -
	 * 1/n for a single token.
	 */
	readonly gini: number;
	/** Variance of the n probabilities, sum p^2 / n - 1 / n^2: 0 if flat, largest for a single token. */
	readonly variance: number;
}

/**
 * Computes the statistics that determine where a token-level search forks (Besta et al. 2025, "Reasoning Language
 * Models: A Blueprint").
 * @param weights nonnegative, at least one positive; need not sum to 1
 */
export function distributionStatistics(weights: ArrayLike<number>): DistributionStatistics {
	const n = weights.length;
	let sum = 0;
	for (let i = 0; i < n; i++) sum += weights[i] as number;
	let entropy = 0;
	let second = 0;
	let squares = 0;
	const sorted = new Float64Array(n);
	for (let i = 0; i < n; i++) {
		const p = (weights[i] as number) / sum;
		sorted[i] = p;
		squares += p * p;
		if (p === 0) continue;
		const surprise = -Math.log(p);
		entropy += p * surprise;
		second += p * surprise * surprise;
	}
	sorted.sort();
	let ranked = 0;
	for (let i = 0; i < n; i++) ranked += (2 * i + 1 - n) * (sorted[i] as number);
	return {
		entropy,
		// Rounding can produce a value slightly below 0.
		varentropy: Math.max(0, second - entropy * entropy),
		gini: ranked / n,
		variance: Math.max(0, squares / n - 1 / (n * n)),
	};
}
