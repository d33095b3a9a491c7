import { type FileVerification, resultsOf } from './fileVerification.ts';

/** Returns the executable lines (1-based) that were not reached by any row of any reward in the file. */
export function unreachedLines(state: FileVerification | undefined): number[] {
	if (state === undefined) return [];
	const lines = new Set<number>();
	const reached = new Set<number>();
	for (const reward of state.rewards) {
		const verifications = resultsOf(state.results.get(reward.name)).filter((entry) => entry.coverage !== null);
		// Coverage of shared lines is unknown while any of the rewards has no rows.
		if (verifications.length === 0 || verifications.every((entry) => entry.rows.length === 0)) return [];
		for (const { coverage } of verifications) {
			for (const line of coverage?.lines ?? []) lines.add(line);
			for (const line of coverage?.reached ?? []) reached.add(line);
		}
	}
	return [...lines].filter((line) => !reached.has(line)).sort((a, b) => a - b);
}
