/** First row whose x is at least `value`, in an ascending column; the length if there is none. */
export function lowerBound(x: ArrayLike<number>, value: number): number {
	let low = 0;
	let high = x.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((x[middle] as number) < value) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** The row whose x is nearest to `value`; -1 when there are no rows. */
export function nearestRow(x: ArrayLike<number>, value: number): number {
	if (x.length === 0) return -1;
	const after = lowerBound(x, value);
	if (after === 0) return 0;
	if (after === x.length) return x.length - 1;
	return value - (x[after - 1] as number) <= (x[after] as number) - value ? after - 1 : after;
}

/** Rows that lie in a range of x, and one more on either side, so that lines run to the edges. */
export function rowsOfRange(
	x: ArrayLike<number>,
	range: { readonly min: number; readonly max: number } | null,
): { readonly from: number; readonly to: number } {
	if (range === null) return { from: 0, to: x.length };
	const from = lowerBound(x, range.min);
	let to = lowerBound(x, range.max);
	if (to < x.length && x[to] === range.max) to++;
	return { from: Math.max(0, from - 1), to: Math.min(x.length, to + 1) };
}
