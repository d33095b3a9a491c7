/** What a line covers of each column of pixels; NaN where it has no values. */
export interface Envelope {
	/** Lowest and highest value, with those of the way from the column before. */
	readonly low: Float64Array;
	readonly high: Float64Array;
	/** Where the line comes in and goes out. */
	readonly first: Float64Array;
	readonly last: Float64Array;
	/** 1: rows without a value stand between this column's first value and the one before it. */
	readonly gap: Uint8Array;
}

/**
 * Only gaps that leave a whole column without values are gaps: what is narrower cannot be seen.
 *
 * @param from first row; @param to last row, included
 * @param columnOf of a row, ascending; rows outside the columns are left out
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
			// The way from the column before ends here.
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
