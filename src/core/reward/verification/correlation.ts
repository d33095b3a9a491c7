/** Minimum number of rows for a meaningful correlation. */
const fewest = 3;

/**
 * Pearson correlation of two rewards over the rows where both have values, in [-1, 1]; null if either is constant or
 * there are fewer than 3 such rows. Both lists have one entry per row.
 */
export function correlation(a: readonly (number | null)[], b: readonly (number | null)[]): number | null {
	if (a.length !== b.length) throw new RangeError(`got ${a.length} and ${b.length} values`);
	const xs: number[] = [];
	const ys: number[] = [];
	for (let i = 0; i < a.length; i++) {
		const [x, y] = [a[i] as number | null, b[i] as number | null];
		if (x === null || y === null) continue;
		xs.push(x);
		ys.push(y);
	}
	if (xs.length < fewest) return null;
	const dx = centered(xs);
	const dy = centered(ys);
	if (dx === null || dy === null) return null;
	let products = 0;
	for (let i = 0; i < dx.length; i++) products += (dx[i] as number) * (dy[i] as number);
	return Math.max(-1, Math.min(1, products));
}

/** Centers values on their mean and scales them to unit norm; null if all values are equal. Does not overflow. */
function centered(values: readonly number[]): number[] | null {
	let low = Number.POSITIVE_INFINITY;
	let high = Number.NEGATIVE_INFINITY;
	for (const value of values) {
		low = Math.min(low, value);
		high = Math.max(high, value);
	}
	if (low === high) return null;
	const scale = Math.max(Math.abs(low), Math.abs(high));
	const scaled = values.map((value) => value / scale);
	const mean = scaled.reduce((sum, value) => sum + value, 0) / scaled.length;
	const distances = scaled.map((value) => value - mean);
	const length = Math.sqrt(distances.reduce((sum, distance) => sum + distance * distance, 0));
	return length === 0 ? null : distances.map((distance) => distance / length);
}
