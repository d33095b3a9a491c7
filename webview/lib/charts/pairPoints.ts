/** Maximum number of points in a metric-pair chart. */
export const maxPairPoints = 4096;

/** Points of two metrics, as parallel arrays. */
export interface PairColumns {
	readonly x: readonly number[];
	readonly y: readonly number[];
	/** First and last row of each point. */
	readonly rows: readonly (readonly [first: number, last: number])[];
	/** Number of rows averaged per point; the last point can have fewer. */
	readonly rowsPerPoint: number;
}

/**
 * Returns the rows from `from` to `to` (exclusive) in which both columns have a value. If there are more than {@link
 * maxPairPoints}, they are averaged: each point is the mean of both metrics over 2, 4, 8, ... consecutive rows that
 * have both.
 */
export function pairPoints(
	across: ArrayLike<number>,
	up: ArrayLike<number>,
	from: number,
	to: number,
	max = maxPairPoints,
): PairColumns {
	const known: number[] = [];
	for (let row = from; row < to; row++) {
		if (Number.isFinite(across[row]) && Number.isFinite(up[row])) known.push(row);
	}
	let rowsPerPoint = 1;
	while (known.length > rowsPerPoint * max) rowsPerPoint *= 2;
	const x: number[] = [];
	const y: number[] = [];
	const rows: [first: number, last: number][] = [];
	for (let start = 0; start < known.length; start += rowsPerPoint) {
		const end = Math.min(start + rowsPerPoint, known.length);
		let [sumX, sumY] = [0, 0];
		for (let i = start; i < end; i++) {
			sumX += across[known[i] as number] as number;
			sumY += up[known[i] as number] as number;
		}
		x.push(sumX / (end - start));
		y.push(sumY / (end - start));
		rows.push([known[start] as number, known[end - 1] as number]);
	}
	return { x, y, rows, rowsPerPoint };
}

/** Returns the tooltip of each point: its step, or its range of steps. */
export function stepsOf({ rows }: PairColumns, step: ArrayLike<number>): string[] {
	return rows.map(([first, last]) => (first === last ? `step ${step[last]}` : `steps ${step[first]} to ${step[last]}`));
}
