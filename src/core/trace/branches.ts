/**
 * Of messages that branch, for each the index of the one before it; null: it follows the prompt. An entry that names no
 * earlier message is taken as null, so that no chain is endless.
 */
export type Parents = readonly (number | null)[];

/** Sound parents of `count` messages; without any, each follows the one before. */
export function soundParents(parents: Parents | undefined | null, count: number): (number | null)[] {
	return Array.from({ length: count }, (_, i) => {
		if (!parents) return i === 0 ? null : i - 1;
		const parent = parents[i] ?? null;
		return parent !== null && Number.isInteger(parent) && parent >= 0 && parent < i ? parent : null;
	});
}

/** Messages that nothing follows, in order. */
export function leavesOf(parents: Parents): number[] {
	const followed = new Set(parents);
	return parents.map((_, i) => i).filter((i) => !followed.has(i));
}

/** From the first message to this one. */
export function pathTo(message: number, parents: Parents): number[] {
	const path: number[] = [];
	for (let at: number | null = message; at !== null; at = parents[at] ?? null) path.push(at);
	return path.reverse();
}

/** By message (null: the prompt), what follows it, in order. */
export function childrenOf(parents: Parents): Map<number | null, number[]> {
	const children = new Map<number | null, number[]>();
	for (const [i, parent] of parents.entries()) {
		const list = children.get(parent);
		if (list) list.push(i);
		else children.set(parent, [i]);
	}
	return children;
}
