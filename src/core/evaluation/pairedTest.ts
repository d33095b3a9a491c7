import type { Random } from '../../base/random.ts';

/**
 * Exact two-sided McNemar test (McNemar 1947, with binomial probabilities): of n = b + c problems that only one of two
 * runs solved, how likely a split at least as uneven is when neither run is better. p = min(1, 2 P(X <= min(b, c))) for
 * X ~ Binomial(n, 1/2). 1 when there are none.
 *
 * @param b problems that only the first solved; @param c only the second
 */
export function mcnemarExact(b: number, c: number): number {
	const n = b + c;
	const least = Math.min(b, c);
	// Logarithms: 2^-n leaves the doubles at n = 1075.
	let term = -n * Math.LN2;
	let sum = Math.exp(term);
	for (let i = 0; i < least; i++) {
		term += Math.log((n - i) / (i + 1));
		sum += Math.exp(term);
	}
	return Math.min(1, 2 * sum);
}

export interface BootstrapResult {
	/** Mean of the differences. */
	readonly mean: number;
	/** 95 % percentile interval of the mean. */
	readonly low: number;
	readonly high: number;
	/** Two-sided: how often the mean of a resample lies as far from the observed mean as that lies from 0. */
	readonly p: number;
	readonly resamples: number;
}

/** Draws of one bootstrap at most; more problems get fewer resamples. */
const mostDraws = 20_000_000;
const resampleLimits = { most: 10_000, least: 400 } as const;

/**
 * Paired bootstrap over problems (Efron and Tibshirani 1993, chapters 13 and 16): problems are drawn with replacement, each
 * with its difference, so that what makes a problem hard for both runs cancels. p counts the shifted resamples and adds one
 * to both counts (Davison and Hinkley 1997, section 4.2), so it is never 0.
 *
 * @param differences one per problem: share of right samples of the second run minus the first's
 * @param most resamples at most
 */
export function pairedBootstrap(
	differences: readonly number[],
	random: Random,
	most: number = resampleLimits.most,
): BootstrapResult {
	const n = differences.length;
	if (n === 0) return { mean: Number.NaN, low: Number.NaN, high: Number.NaN, p: Number.NaN, resamples: 0 };
	const mean = differences.reduce((sum, value) => sum + value, 0) / n;
	const resamples = Math.max(resampleLimits.least, Math.min(most, Math.floor(mostDraws / n)));
	const values = Float64Array.from(differences);
	const means = new Float64Array(resamples);
	let far = 0;
	for (let r = 0; r < resamples; r++) {
		let sum = 0;
		for (let i = 0; i < n; i++) sum += values[Math.floor((random.uint32() / 2 ** 32) * n)] as number;
		const drawn = sum / n;
		means[r] = drawn;
		// Rounding must not decide between equal distances.
		if (Math.abs(drawn - mean) >= Math.abs(mean) - 1e-12) far++;
	}
	means.sort();
	return {
		mean,
		low: percentile(means, 0.025),
		high: percentile(means, 0.975),
		p: (far + 1) / (resamples + 1),
		resamples,
	};
}

/** Linear between order statistics, as numpy does by default. */
function percentile(sorted: Float64Array, share: number): number {
	const at = share * (sorted.length - 1);
	const low = Math.floor(at);
	const below = sorted[low] as number;
	const above = sorted[Math.min(sorted.length - 1, low + 1)] as number;
	return below + (above - below) * (at - low);
}
