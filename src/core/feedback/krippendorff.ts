/**
 * Computes Krippendorff's alpha for ordinal values (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").
 * Alpha is 1 - D_o / D_e: 1 is full agreement, 0 is chance level, and values below 0 indicate systematic disagreement.
 * @param units ratings per item; items with a single rating are ignored
 * @returns null if no item has two ratings, or if all ratings are equal
 */
export function ordinalAlpha(units: readonly (readonly number[])[]): number | null {
	const pairable = units.filter((ratings) => ratings.length >= 2);
	const values = [...new Set(pairable.flat())].sort((a, b) => a - b);
	if (values.length < 2) return null;
	const place = new Map(values.map((value, i) => [value, i]));
	const coincidences = values.map(() => new Array<number>(values.length).fill(0));
	for (const ratings of pairable) {
		for (const [i, a] of ratings.entries()) {
			for (const [j, b] of ratings.entries()) {
				if (i === j) continue;
				const row = coincidences[place.get(a) as number] as number[];
				const column = place.get(b) as number;
				row[column] = (row[column] as number) + 1 / (ratings.length - 1);
			}
		}
	}
	const totals = coincidences.map((row) => row.reduce((sum, count) => sum + count, 0));
	const all = totals.reduce((sum, count) => sum + count, 0);
	// Squared distance between two ranks: all ratings between them, plus half of those at each end.
	const distance = (c: number, k: number) => {
		const between = totals.slice(c, k + 1).reduce((sum, count) => sum + count, 0);
		return (between - ((totals[c] as number) + (totals[k] as number)) / 2) ** 2;
	};
	let observed = 0;
	let expected = 0;
	for (let c = 0; c < values.length; c++) {
		for (let k = c + 1; k < values.length; k++) {
			observed += (coincidences[c]?.[k] as number) * distance(c, k);
			expected += (totals[c] as number) * (totals[k] as number) * distance(c, k);
		}
	}
	return 1 - ((all - 1) * observed) / expected;
}
