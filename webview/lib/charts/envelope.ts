/** Extent of a line in each pixel column; NaN if it has no values there. */
export interface Envelope {
	/** Lowest and highest value, including the segment from the previous column. */
	readonly low: Float64Array;
	readonly high: Float64Array;
	/** First and last value of the line in the column. */
	readonly first: Float64Array;
	readonly last: Float64Array;
	/** 1 if there are rows without a value between the column's first value and the previous value. */
	readonly gap: Uint8Array;
}

/**
 * Computes the extent of a line per pixel column. Only gaps that leave a whole column without values are preserved,
 * because narrower gaps are not visible.
 *
 * @param from first row; @param to last row, inclusive
 * @param columnOf returns the column of a row, in ascending order; rows outside the columns are ignored
 */
export function envelopeOf(
	values: ArrayLike<number | null | undefined>,
	from: number,
	to: number,
	columns: number,
	columnOf: (row: number) => number,
): Envelope {
	const nowhere = () => new Float64Array(columns).fill(Number.NaN);
	const [low, high, first, last] = [nowhere(), nowhere(), nowhere(), nowhere()];
	const gap = new Uint8Array(columns);
	let before = -1;
	let holes = false;
	for (let row = from; row <= to; row++) {
		const column = columnOf(row);
		if (column < 0 || column >= columns) continue;
		const value = values[row];
		if (value === null || value === undefined) {
			holes = true;
			continue;
		}
		if (column !== before) {
			const next = before >= 0 && column === before + 1;
			gap[column] = holes && before >= 0 && !next ? 1 : 0;
			// The segment from the previous column ends here.
			const came = next ? (last[before] as number) : value;
			low[column] = Math.min(value, came);
			high[column] = Math.max(value, came);
			first[column] = value;
			before = column;
		} else {
			if (value < (low[column] as number)) low[column] = value;
			if (value > (high[column] as number)) high[column] = value;
		}
		last[column] = value;
		holes = false;
	}
	return { low, high, first, last, gap };
}
