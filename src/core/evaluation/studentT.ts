/** 97.5th percentile of the standard normal distribution. */
export const z95 = 1.959963984540054;

/**
 * Returns the 97.5th percentile of Student's t distribution. The result is exact for one and two degrees of freedom.
 * Otherwise, it is computed from the expansion around the normal percentile (Abramowitz and Stegun 1964, 26.7.5), whose
 * error is 0.1% at three degrees of freedom and decreases from there.
 * @param freedom degrees of freedom, at least 1
 */
export function t95(freedom: number): number {
	if (freedom <= 1) return Math.tan(0.475 * Math.PI);
	// 2 q sqrt(2 / (4 a (1 - a))) with q = a - 1/2 and a = 0.975.
	if (freedom < 3) return 0.95 * Math.sqrt(2 / (4 * 0.975 * 0.025));
	const z = z95;
	const terms = [
		(z ** 3 + z) / 4,
		(5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
		(3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
		(79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92_160,
	];
	return terms.reduce((sum, term, i) => sum + term / freedom ** (i + 1), z);
}
