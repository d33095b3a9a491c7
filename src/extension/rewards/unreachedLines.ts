import { type FileVerification, resultsOf } from './fileVerification.ts';

/** Lines, from 1, that could run and that no row of any of the file's rewards has reached. */
export function unreachedLines(state: FileVerification | undefined): number[] {
	if (state === undefined) return [];
	const lines = new Set<number>();
	const reached = new Set<number>();
	for (const reward of state.rewards) {
		const verifications = resultsOf(state.results.get(reward.name)).filter((entry) => entry.coverage !== null);
		// Without a reward's rows nothing can be said of its lines, nor of those that it shares.
		if (verifications.length === 0 || verifications.every((entry) => entry.rows.length === 0)) return [];
		for (const { coverage } of verifications) {
			for (const line of coverage?.lines ?? []) lines.add(line);
			for (const line of coverage?.reached ?? []) reached.add(line);
		}
	}
	return [...lines].filter((line) => !reached.has(line)).sort((a, b) => a - b);
}
