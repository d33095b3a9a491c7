import { t95 } from './studentT.ts';

/** A mean difference and its interval. */
export interface Difference {
	readonly mean: number;
	/** Lower bound of the 95% interval. */
	readonly low: number;
	readonly high: number;
}

/**
 * Returns the mean of paired differences with its 95% interval (Student's t), after adding half a win and half a loss.
 * This is in the spirit of Bonett and Price (2012), who add one of each to the counts. Without the added problems, a
 * few problems with equal results on both sides would give an interval of zero width. An added problem differs by the
 * root mean square of the nonzero differences, or by the maximum possible difference if there are none.
 * @param differences one per problem, second minus first: -1 to 1 for fractions
 * @param max maximum difference per problem; `Infinity` for unbounded values such as lengths
 */
export function differenceInterval(differences: readonly number[], max = 1): Difference {
	const n = differences.length;
	if (n === 0) return { mean: Number.NaN, low: -max, high: max };
	const sum = differences.reduce((total, value) => total + value, 0);
	const mean = sum / n;
	if (n === 1) return { mean, low: -max, high: max };
	const squares = differences.reduce((total, value) => total + value * value, 0);
	const differing = differences.filter((value) => value !== 0).length;
	const added = differing > 0 ? squares / differing : Number.isFinite(max) ? max ** 2 : 0;
	const count = n + 1;
	const center = sum / count;
	const half = t95(n - 1) * Math.sqrt(Math.max(0, (squares + added) / count - center ** 2) / count);
	// The reported mean lies inside the interval, even if all differences are equal.
	return {
		mean,
		low: Math.max(-max, Math.min(mean, center - half)),
		high: Math.min(max, Math.max(mean, center + half)),
	};
}
