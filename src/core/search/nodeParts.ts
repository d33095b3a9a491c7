import type { Generation, TokenDetail } from './policy.ts';
import { chainOf } from './readGeneration.ts';

/**
 * Returns the consecutive parts of a generation that become nodes: the turns of an episode, or the parts between the
 * strategy's cuts. If the budget does not cover all turns, the last ones are dropped, leaving the episode unfinished.
 * @param cut token positions at which to split; invalid ones are ignored
 * @param moreNodes reserves nodes beyond the first one; returns how many were reserved
 */
export function partsOf(
	generation: Generation,
	cut: ((detail: TokenDetail) => readonly number[]) | undefined,
	moreNodes: (wanted: number) => number,
): readonly Generation[] {
	const { detail, turns } = generation;
	if (turns !== undefined && turns.length > 0) return turns.slice(0, 1 + moreNodes(turns.length - 1));
	const cuts = detail === null || cut === undefined ? [] : cleanCuts(cut(detail), detail.text.length);
	if (cuts.length === 0) return [generation];
	return chainOf(generation, cuts.slice(0, moreNodes(cuts.length)));
}

/** Returns the valid split positions in a generation, sorted and without duplicates. */
function cleanCuts(cuts: readonly number[], length: number): number[] {
	const clean: number[] = [];
	for (const cut of cuts) if (cut > (clean.at(-1) ?? 0) && cut < length) clean.push(cut);
	return clean;
}
