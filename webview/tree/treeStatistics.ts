import type { SearchTree } from '../../src/core/search/searchTree.ts';

export interface TreeStatistics {
	/** Number of nodes, excluding the problem (see {@link SearchTree.nodeCount}). */
	readonly nodes: number;
	/** Maximum depth along first parents. */
	readonly depth: number;
	readonly leaves: number;
	/** Number of generated tokens, summed over the nodes that record it. */
	readonly tokens: number;
	/** Total visits to the roots. */
	readonly simulations: number;
	readonly pruned: number;
	readonly merged: number;
	readonly finals: number;
	/** Mean number of children per internal node. */
	readonly branching: number | null;
	/** Highest Q value of any terminal node (or score, if a node has no Q value). null if there are no terminal nodes. */
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
