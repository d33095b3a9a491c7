import type { SearchTree } from '../../src/core/search/searchTree.ts';

export interface TreeStatistics {
	/** But for the problem (see {@link SearchTree.nodeCount}). */
	readonly nodes: number;
	/** Steps of the longest way along first parents. */
	readonly depth: number;
	readonly leaves: number;
	/** Of the texts of nodes, as far as the log tells. */
	readonly tokens: number;
	/** Visits of the roots. */
	readonly simulations: number;
	readonly pruned: number;
	readonly merged: number;
	readonly finals: number;
	/** Children of nodes that have any, on average. */
	readonly branching: number | null;
	/** The greatest value Q, else score, of an ended node; null: there is none. */
	readonly bestValue: number | null;
}

export function treeStatistics(tree: SearchTree): TreeStatistics {
	let [depth, leaves, tokens, pruned, merged, finals, children, inner] = [0, 0, 0, 0, 0, 0, 0, 0];
	let bestValue: number | null = null;
	for (const node of tree.nodes) {
		if (node.depth > depth) depth = node.depth;
		if (node.children.length === 0) leaves++;
		else {
			inner++;
			children += node.children.length;
		}
		tokens += node.tokens ?? 0;
		if (node.pruned !== null) pruned++;
		if (node.mergedInto !== null) merged++;
		if (!node.final && node.answer === null) continue;
		finals++;
		const value = tree.q(node.id) ?? node.score;
		if (value !== null && (bestValue === null || value > bestValue)) bestValue = value;
	}
	return {
		nodes: tree.nodeCount,
		depth,
		leaves,
		tokens,
		simulations: tree.roots.reduce((sum, id) => sum + (tree.node(id)?.visits ?? 0), 0),
		pruned,
		merged,
		finals,
		branching: inner === 0 ? null : children / inner,
		bestValue,
	};
}
