/**
 * Rows that suffice to draw columns at a given width: in each of `buckets` equal parts of the range, the rows where a
 * column is smallest and largest, besides the first and the last row with a value. So every peak stays visible, and every
 * point that is drawn was measured. Ranges with no more than two rows a bucket are kept whole.
 *
 * @param from first row; @param to one past the last row
 * @returns ascending row indices
 */
export function pickRows(columns: readonly Float64Array[], from: number, to: number, buckets: number): Int32Array {
	const count = Math.max(0, to - from);
	if (count <= 2 * buckets || buckets < 1) return Int32Array.from({ length: count }, (_, i) => from + i);
	const picked = new Uint8Array(count);
	picked[0] = 1;
	picked[count - 1] = 1;
	for (const column of columns) {
		let first = -1;
		let last = -1;
		for (let bucket = 0; bucket < buckets; bucket++) {
			const start = from + Math.floor((bucket * count) / buckets);
			const end = from + Math.floor(((bucket + 1) * count) / buckets);
			let low = -1;
			let high = -1;
			let lowest = Number.POSITIVE_INFINITY;
			let highest = Number.NEGATIVE_INFINITY;
			for (let row = start; row < end; row++) {
				const value = column[row] as number;
				// NaN compares false both ways: rows without a value are passed over.
				if (value < lowest) {
					lowest = value;
					low = row;
				}
				if (value > highest) {
					highest = value;
					high = row;
				}
			}
			if (low < 0 && high < 0) continue;
			if (low >= 0) picked[low - from] = 1;
			if (high >= 0) picked[high - from] = 1;
			if (first < 0) first = start;
			last = end;
		}
		if (first < 0) continue;
		picked[firstValue(column, first, to) - from] = 1;
		picked[lastValue(column, from, last) - from] = 1;
	}
	let size = 0;
	for (let i = 0; i < count; i++) size += picked[i] as number;
	const rows = new Int32Array(size);
	let next = 0;
	for (let i = 0; i < count; i++) if (picked[i] === 1) rows[next++] = from + i;
	return rows;
}

function firstValue(column: Float64Array, from: number, to: number): number {
	let row = from;
	while (row < to - 1 && Number.isNaN(column[row])) row++;
	return row;
}

function lastValue(column: Float64Array, from: number, to: number): number {
	let row = to - 1;
	while (row > from && Number.isNaN(column[row])) row--;
	return row;
}

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
