/**
 * Selects enough rows to draw columns at a given width: for each of `buckets` equal parts of the range, the rows with
 * the minimum and maximum of a column, plus the first and last row with a value. Every peak remains visible, and every
 * drawn point is an actual measurement. If a column has no value in a bucket, one of its rows marks the gap. Ranges
 * with at most two rows per bucket are kept in full.
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
				// Comparisons with NaN are false, which skips rows without a value.
				if (value < lowest) {
					lowest = value;
					low = row;
				}
				if (value > highest) {
					highest = value;
					high = row;
				}
			}
			if (low < 0 && high < 0) {
				// Keep a row without a value so that the gap is visible.
				if (end > start) picked[start - from] = 1;
				continue;
			}
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
