/**
 * Parent index of each message in a branching conversation; null if the message follows the prompt. An entry that does
 * not refer to an earlier message is treated as null, so every chain ends.
 */
export type Parents = readonly (number | null)[];

/** Returns valid parents for `count` messages. By default, each message follows the previous one. */
export function soundParents(parents: Parents | undefined | null, count: number): (number | null)[] {
	return Array.from({ length: count }, (_, i) => {
		if (!parents) return i === 0 ? null : i - 1;
		const parent = parents[i] ?? null;
		return parent !== null && Number.isInteger(parent) && parent >= 0 && parent < i ? parent : null;
	});
}

/** Returns the messages without a successor, in order. */
export function leavesOf(parents: Parents): number[] {
	const followed = new Set(parents);
	return parents.map((_, i) => i).filter((i) => !followed.has(i));
}

/** Returns the path from the first message to the given one. */
export function pathTo(message: number, parents: Parents): number[] {
	const path: number[] = [];
	for (let at: number | null = message; at !== null; at = parents[at] ?? null) path.push(at);
	return path.reverse();
}

/** Returns the successors of each message in order; the key null stands for the prompt. */
export function childrenOf(parents: Parents): Map<number | null, number[]> {
	const children = new Map<number | null, number[]>();
	for (const [i, parent] of parents.entries()) {
		const list = children.get(parent);
		if (list) list.push(i);
		else children.set(parent, [i]);
	}
	return children;
}
