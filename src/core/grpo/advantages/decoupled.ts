import { mean, sampleStd, stdEpsilon } from './groupAdvantages.ts';

/** Advantages closer than this count as equal, to allow for rounding. */
const rounding = 1e-9;

/**
 * GDPO: each reward function is normalized within its group, (r - mean) / (std + 1e-4), before the weighted sum, so
 * that no function dominates the others; the sums are normalized over the batch. Liu et al. 2026 (arXiv:2601.05242);
 * TRL's `multi_objective_aggregation: "normalize_then_sum"`. 0 for rows without a reward, and for groups in which all
 * functions return equal values.
 * @param rows one row per completion, with one value per reward function; NaN if it does not apply. The rows of each
 * group are contiguous.
 */
export function decoupledAdvantages(
	rows: readonly Float64Array[],
	weights: readonly number[],
	groupSize: number,
): Float64Array {
	const sums = new Float64Array(rows.length).fill(Number.NaN);
	for (let from = 0; from < rows.length; from += groupSize) {
		const group = rows.slice(from, from + groupSize);
		for (const [k, weight] of weights.entries()) {
			const values = group.map((row) => row[k] as number);
			const center = mean(values);
			const divisor = sampleStd(values) + stdEpsilon;
			for (const [i, value] of values.entries()) {
				if (Number.isNaN(value)) continue;
				const before = sums[from + i] as number;
				// A single value has no standard deviation, and TRL's nansum omits it.
				const term = Number.isNaN(divisor) ? 0 : weight * ((value - center) / divisor);
				sums[from + i] = (Number.isNaN(before) ? 0 : before) + term;
			}
		}
	}
	const center = mean(sums);
	const divisor = sampleStd(sums) + stdEpsilon;
	return sums.map((sum) => {
		const value = (sum - center) / divisor;
		return Number.isNaN(value) || Math.abs(value) < rounding ? 0 : value;
	});
}
