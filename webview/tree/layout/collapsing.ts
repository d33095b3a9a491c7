import type { TreeNode } from '../../../src/core/search/searchTree.ts';
import { descendants } from './visibleTree.ts';

/** How much of a tree is open where nobody opened or closed a node: as much as can be looked at, all, or down to a depth. */
export type Detail = 'automatic' | 'all' | number;

/** Nodes that are in sight at most unless a person opens more. */
export const readableNodes = 500;

/**
 * Which nodes are closed. A person's choice goes before all; the ancestors of `open` (what is selected, the best path) are
 * open. `automatic` opens the nodes with the most below them, as many as leave at most `limit` in sight.
 */
export function collapsing(
	nodes: readonly TreeNode[],
	detail: Detail,
	chosen: ReadonlyMap<number, boolean>,
	open: readonly number[] = [],
	limit = readableNodes,
): (id: number) => boolean {
	const kept = new Set(open);
	const byChoice = (id: number): boolean | undefined => {
		const choice = chosen.get(id);
		if (choice !== undefined) return !choice;
		return kept.has(id) ? false : undefined;
	};
	if (detail === 'all' || (detail === 'automatic' && nodes.length <= limit)) return (id) => byChoice(id) ?? false;
	if (detail !== 'automatic') return (id) => byChoice(id) ?? (nodes[id]?.depth ?? 0) >= detail;
	const below = descendants(nodes);
	const least = leastOpen(nodes, below, limit);
	return (id) => byChoice(id) ?? (below[id] as number) < least;
}

/** The least number of descendants at which a node is open, so that at most `limit` nodes are in sight. */
function leastOpen(nodes: readonly TreeNode[], below: Int32Array, limit: number): number {
	const opens: [below: number, children: number][] = [];
	let shown = 0;
	for (let id = 0; id < nodes.length; id++) {
		const { children, parents } = nodes[id] as TreeNode;
		if (parents.length === 0) shown++;
		if (children.length > 0) opens.push([below[id] as number, children.length]);
	}
	opens.sort(([a], [b]) => b - a);
	for (let i = 0; i < opens.length; ) {
		// All nodes with as many below them are opened together, or the picture would depend on their order.
		const size = (opens[i] as [number, number])[0];
		let more = 0;
		for (; i < opens.length && (opens[i] as [number, number])[0] === size; i++)
			more += (opens[i] as [number, number])[1];
		// The root is opened in any case.
		if (shown + more > limit && shown > 1) return size + 1;
		shown += more;
	}
	return 0;
}
