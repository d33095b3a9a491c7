export interface HistogramBin {
	/** Values from `low` up to `high`; `high` itself belongs to the next bin, but to this one if it is the last. */
	readonly low: number;
	readonly high: number;
	readonly count: number;
}

/**
 * Counts of values in bins of equal width between the smallest and the largest one. A reward with few different values has
 * a bin for each of them, whose `low` and `high` are that value. Empty without values.
 */
export function histogram(values: readonly number[], bins = 20): HistogramBin[] {
	const counts = new Map<number, number>();
	for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
	const different = [...counts.keys()].sort((a, b) => a - b);
	if (different.length <= Math.max(1, bins / 2)) {
		return different.map((value) => ({ low: value, high: value, count: counts.get(value) as number }));
	}
	const low = different[0] as number;
	const high = different.at(-1) as number;
	// Halves first: the difference of two huge values would overflow.
	const edge = (i: number) => (i === bins ? high : low * (1 - i / bins) + high * (i / bins));
	const result = Array.from({ length: bins }, (_, i) => ({ low: edge(i), high: edge(i + 1), count: 0 }));
	let bin = 0;
	for (const value of different) {
		while (bin < bins - 1 && value >= (result[bin] as HistogramBin).high) bin++;
		(result[bin] as { count: number }).count += counts.get(value) as number;
	}
	return result;
}
