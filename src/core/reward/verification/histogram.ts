export interface HistogramBin {
	/** Inclusive lower edge. The upper edge `high` is exclusive, except in the last bin. */
	readonly low: number;
	readonly high: number;
	readonly count: number;
}

/**
 * Counts values in equal-width bins between the smallest and the largest value. If there are only a few distinct
 * values, each one gets its own bin, with `low` and `high` equal to the value. Returns no bins if there are no values.
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
	// Scales before adding, because the difference of two huge values would overflow.
	const edge = (i: number) => (i === bins ? high : low * (1 - i / bins) + high * (i / bins));
	const result = Array.from({ length: bins }, (_, i) => ({ low: edge(i), high: edge(i + 1), count: 0 }));
	let bin = 0;
	for (const value of different) {
		while (bin < bins - 1 && value >= (result[bin] as HistogramBin).high) bin++;
		(result[bin] as { count: number }).count += counts.get(value) as number;
	}
	return result;
}
