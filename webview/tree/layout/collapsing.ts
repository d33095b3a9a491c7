import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import { descendants } from './visibleTree.ts';

/**
 * Default expansion for nodes that the user has not expanded or collapsed: as many nodes as are readable, all nodes, or
 * the nodes down to a given depth.
 */
export type Detail = 'automatic' | 'all' | number;

/** Maximum number of visible nodes, unless the user expands more. */
export const readableNodes = 500;

/**
 * Determines which nodes are collapsed. The user's choices take precedence, and the ancestors in `open` (of the
 * selection and the best path) are expanded. `automatic` expands the nodes with the most descendants as long as at most
 * `limit` nodes are visible.
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
	const min = minOpen(nodes, below, limit);
	return (id) => byChoice(id) ?? (below[id] as number) < min;
}

/** Returns the minimum number of descendants for a node to be expanded such that at most `limit` nodes are visible. */
function minOpen(nodes: readonly TreeNode[], below: Int32Array, limit: number): number {
	const opens: [below: number, children: number][] = [];
	let shown = 0;
	for (let id = 0; id < nodes.length; id++) {
		const { children, parents } = nodes[id] as TreeNode;
		if (parents.length === 0) shown++;
		if (children.length > 0) opens.push([below[id] as number, children.length]);
	}
	opens.sort(([a], [b]) => b - a);
	for (let i = 0; i < opens.length; ) {
		// Expand all nodes with the same number of descendants together, so the result does not depend on their order.
		const size = (opens[i] as [number, number])[0];
		let more = 0;
		for (; i < opens.length && (opens[i] as [number, number])[0] === size; i++)
			more += (opens[i] as [number, number])[1];
		// Always expand the root.
		if (shown + more > limit && shown > 1) return size + 1;
		shown += more;
	}
	return 0;
}
