import type { TreeNode } from '../../src/core/search/treeNode.ts';

/** Returns the nodes whose text, name or answer contains the query (case-insensitive). Empty for a blank query. */
export function findNodes(nodes: readonly TreeNode[], words: string): number[] {
	const sought = words.trim().toLowerCase();
	if (sought === '') return [];
	const found: number[] = [];
	for (const { id, text, label, answer } of nodes) {
		if (
			text.toLowerCase().includes(sought) ||
			label?.toLowerCase().includes(sought) ||
			answer?.toLowerCase().includes(sought)
		) {
			found.push(id);
		}
	}
	return found;
}

/** Returns the next or previous match from a node, wrapping around, or -1 if there are no matches. */
export function nextHit(hits: readonly number[], from: number | null, by: 1 | -1): number {
	if (hits.length === 0) return -1;
	if (from === null) return (by === 1 ? hits[0] : hits.at(-1)) as number;
	if (by === 1) return (hits.find((id) => id > from) ?? hits[0]) as number;
	return (hits.findLast((id) => id < from) ?? hits.at(-1)) as number;
}
