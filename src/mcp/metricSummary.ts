export interface MetricSummary {
	/** Number of rows with a value. */
	readonly count: number;
	readonly first: number | null;
	readonly last: number | null;
	readonly min: number | null;
	readonly min_step: number | null;
	readonly max: number | null;
	readonly max_step: number | null;
	readonly mean: number | null;
	/** Means over the first and last 10% of rows with a value. */
	readonly start_mean: number | null;
	readonly end_mean: number | null;
}

/** Summarizes a metric over steps, ignoring null values. */
export function summarize(steps: readonly number[], values: readonly (number | null)[]): MetricSummary {
	const rows = values.flatMap((value, i) => (value === null ? [] : [{ value, step: steps[i] as number }]));
	const [first] = rows;
	if (first === undefined) {
		return {
			...{ count: 0, first: null, last: null, min: null, min_step: null, max: null, max_step: null },
			...{ mean: null, start_mean: null, end_mean: null },
		};
	}
	let min = first;
	let max = first;
	for (const row of rows) {
		if (row.value < min.value) min = row;
		if (row.value > max.value) max = row;
	}
	const mean = (part: typeof rows) => part.reduce((sum, { value }) => sum + value, 0) / part.length;
	const tenth = Math.max(1, Math.floor(rows.length / 10));
	return {
		count: rows.length,
		first: first.value,
		last: rows.at(-1)?.value ?? null,
		min: min.value,
		min_step: min.step,
		max: max.value,
		max_step: max.step,
		mean: mean(rows),
		start_mean: mean(rows.slice(0, tenth)),
		end_mean: mean(rows.slice(-tenth)),
	};
}
