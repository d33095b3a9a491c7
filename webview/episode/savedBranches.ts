import type { EpisodeBranch } from '../../src/protocol/episodeMessages.ts';

/** Maximum size of saved episodes as JSON, in characters. VS Code keeps the state of every view in one database. */
const budget = 400_000;

/** Caches episode sizes, which never change, because the state is saved often during a replay. */
const sizes = new WeakMap<EpisodeBranch, number>();

function sizeOf(branch: EpisodeBranch): number {
	const known = sizes.get(branch) ?? JSON.stringify(branch).length;
	sizes.set(branch, known);
	return known;
}

/** Returns the episodes to save, in their original order: the current one and as many of the latest ones as fit. */
export function savedBranches(branches: readonly EpisodeBranch[], shown: number | null): EpisodeBranch[] {
	const wanted = [...branches].reverse().sort((a, b) => Number(b.id === shown) - Number(a.id === shown));
	const kept = new Set<number>();
	let room = budget;
	for (const branch of wanted) {
		room -= sizeOf(branch);
		if (room < 0) break;
		kept.add(branch.id);
	}
	return branches.filter(({ id }) => kept.has(id));
}
