export interface Estimate {
	/** The mean, 0 to 1. */
	readonly accuracy: number;
	/** 95 % interval. */
	readonly low: number;
	readonly high: number;
}

/** 97.5th percentile of the standard normal distribution. */
const z95 = 1.959963984540054;

/**
 * Wilson score interval of a proportion (Wilson 1927): it never leaves 0..1 and holds for proportions near its ends.
 *
 * @param n trials; may be fractional (an effective number)
 */
export function wilsonInterval(proportion: number, n: number): Estimate {
	if (n <= 0) return { accuracy: Number.NaN, low: 0, high: 1 };
	const z2 = z95 * z95;
	const centre = (proportion + z2 / (2 * n)) / (1 + z2 / n);
	const half = (z95 / (1 + z2 / n)) * Math.sqrt((proportion * (1 - proportion)) / n + z2 / (4 * n * n));
	return {
		accuracy: proportion,
		low: proportion === 0 ? 0 : Math.max(0, centre - half),
		high: proportion === 1 ? 1 : Math.min(1, centre + half),
	};
}

/**
 * Accuracy over problems: the mean over problems of the mean over samples, with its 95 % interval. Samples of one problem
 * are not independent, so the interval counts the problems, or as many trials as the spread between problems is worth (never
 * more than there are samples).
 *
 * @param correct one list of samples per problem
 */
export function estimateAccuracy(correct: readonly (readonly boolean[])[]): Estimate {
	const means = correct
		.filter((samples) => samples.length > 0)
		.map((samples) => samples.filter((right) => right).length / samples.length);
	const n = means.length;
	if (n === 0) return wilsonInterval(Number.NaN, 0);
	const mean = means.reduce((a, b) => a + b, 0) / n;
	const samples = correct.reduce((sum, list) => sum + list.length, 0);
	const spread = means.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, n - 1);
	const alone = mean * (1 - mean);
	// All right or all wrong says nothing about how alike the samples of a problem are.
	const worth = alone === 0 ? n : spread === 0 ? samples : (alone * n) / spread;
	return wilsonInterval(mean, Math.min(samples, Math.max(n, worth)));
}
