/**
 * For branching messages, the index of each message's parent; null: it follows the prompt. An entry that does not name
 * an earlier message counts as null, so that every chain ends.
 */
export type Parents = readonly (number | null)[];

/** Valid parents of `count` messages; by default, each follows the previous one. */
export function soundParents(parents: Parents | undefined | null, count: number): (number | null)[] {
	return Array.from({ length: count }, (_, i) => {
		if (!parents) return i === 0 ? null : i - 1;
		const parent = parents[i] ?? null;
		return parent !== null && Number.isInteger(parent) && parent >= 0 && parent < i ? parent : null;
	});
}

/** Messages without a successor, in order. */
export function leavesOf(parents: Parents): number[] {
	const followed = new Set(parents);
	return parents.map((_, i) => i).filter((i) => !followed.has(i));
}

/** Path from the first message to this one. */
export function pathTo(message: number, parents: Parents): number[] {
	const path: number[] = [];
	for (let at: number | null = message; at !== null; at = parents[at] ?? null) path.push(at);
	return path.reverse();
}

/** By message (null: the prompt), its successors in order. */
export function childrenOf(parents: Parents): Map<number | null, number[]> {
	const children = new Map<number | null, number[]>();
	for (const [i, parent] of parents.entries()) {
		const list = children.get(parent);
		if (list) list.push(i);
		else children.set(parent, [i]);
	}
	return children;
}
