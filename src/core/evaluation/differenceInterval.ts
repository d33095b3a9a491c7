import { t95 } from './studentT.ts';

/** A mean difference. */
export interface Difference {
	readonly mean: number;
	/** 95% interval. */
	readonly low: number;
	readonly high: number;
}

/**
 * Mean of paired differences with its 95% interval: Student's, after half a problem won and half a problem lost are added,
 * as Bonett and Price (2012) add one of each to counts. Without them few problems that come out the same on both sides would
 * have an interval without width. A problem that is added differs by as much as those that differ do (root mean square);
 * where none does, by as much as they can.
 *
 * @param differences one per problem, of the second minus the first: of shares -1 to 1
 * @param most by how much a problem can differ; `Infinity`: of what has no bound, as lengths
 */
export function differenceInterval(differences: readonly number[], most = 1): Difference {
	const n = differences.length;
	if (n === 0) return { mean: Number.NaN, low: -most, high: most };
	const sum = differences.reduce((total, value) => total + value, 0);
	const mean = sum / n;
	if (n === 1) return { mean, low: -most, high: most };
	const squares = differences.reduce((total, value) => total + value * value, 0);
	const differing = differences.filter((value) => value !== 0).length;
	const added = differing > 0 ? squares / differing : Number.isFinite(most) ? most ** 2 : 0;
	const count = n + 1;
	const centre = sum / count;
	const half = t95(n - 1) * Math.sqrt(Math.max(0, (squares + added) / count - centre ** 2) / count);
	// The mean that is told lies in it, also where all differ alike.
	return {
		mean,
		low: Math.max(-most, Math.min(mean, centre - half)),
		high: Math.min(most, Math.max(mean, centre + half)),
	};
}
