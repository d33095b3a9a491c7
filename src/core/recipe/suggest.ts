/**
 * Returns the edit distance between two short strings: insertions, deletions, substitutions, and transpositions of
 * adjacent characters.
 */
export function editDistance(a: string, b: string): number {
	const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
	for (let i = 1; i <= a.length; i++) {
		const row = [i];
		for (let j = 1; j <= b.length; j++) {
			const cost = a[i - 1] === b[j - 1] ? 0 : 1;
			let best = Math.min(
				(rows[i - 1]?.[j] as number) + 1,
				(row[j - 1] as number) + 1,
				(rows[i - 1]?.[j - 1] as number) + cost,
			);
			if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
				best = Math.min(best, (rows[i - 2]?.[j - 2] as number) + 1);
			}
			row.push(best);
		}
		rows.push(row);
	}
	return rows[a.length]?.[b.length] as number;
}

/**
 * Returns the known name that was probably meant, or null if none is close (at most a third of the letters can differ).
 */
export function suggest(name: string, known: readonly string[]): string | null {
	if (name.length > 64) return null;
	const plain = (text: string) => text.toLowerCase().replace(/[_\s-]/g, '');
	let best: string | null = null;
	let min = Number.POSITIVE_INFINITY;
	for (const candidate of known) {
		const distance = editDistance(plain(name), plain(candidate));
		if (distance < min && distance <= Math.max(1, Math.floor(candidate.length / 3))) {
			best = candidate;
			min = distance;
		}
	}
	return best;
}

/** Returns `Did you mean "run"?`, or null if no known name is close. */
export function didYouMean(name: string, known: readonly string[]): string | null {
	const near = suggest(name, known);
	return near === null ? null : `Did you mean "${near}"?`;
}
