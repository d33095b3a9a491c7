import type { EpisodeBranch } from '../../src/protocol/episodeMessages.ts';

/** Maximum size of saved episodes as JSON, in characters. VS Code keeps the state of every view in one database. */
const budget = 400_000;

/** Returns the episodes to save: the shown one, then the latest ones, as many as fit. Their order is kept. */
export function savedBranches(branches: readonly EpisodeBranch[], shown: number | null): EpisodeBranch[] {
	const wanted = [...branches].reverse().sort((a, b) => Number(b.id === shown) - Number(a.id === shown));
	const kept = new Set<number>();
	let room = budget;
	for (const branch of wanted) {
		room -= JSON.stringify(branch).length;
		if (room < 0) break;
		kept.add(branch.id);
	}
	return branches.filter(({ id }) => kept.has(id));
}
