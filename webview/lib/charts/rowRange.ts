/** Returns the first row whose x is at least `value` in an ascending column; `x.length` if there is none. */
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

/** Returns the row whose x is closest to `value`; -1 if there are no rows. */
export function nearestRow(x: ArrayLike<number>, value: number): number {
	if (x.length === 0) return -1;
	const after = lowerBound(x, value);
	if (after === 0) return 0;
	if (after === x.length) return x.length - 1;
	return value - (x[after - 1] as number) <= (x[after] as number) - value ? after - 1 : after;
}

/** Returns the rows in an x range, plus one on either side so that lines extend to the edges. */
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
