import type { SearchTree } from '../searchTree.ts';
import type { TreeFacts } from './treeFormat.ts';

/**
 * Summarizes one of our own trees in one line. The best node is the result recorded by the search or, if there is none,
 * the final node with the highest value.
 */
export function factsOfTree(tree: SearchTree): TreeFacts {
	let depth = 0;
	let final = 0;
	let best: { id: number; value: number } | null = null;
	for (const node of tree.nodes) {
		if (node.depth > depth) depth = node.depth;
		if (!node.final) continue;
		final++;
		const value = node.score ?? tree.q(node.id);
		if (value !== null && (best === null || value > best.value)) best = { id: node.id, value };
	}
	const { outcome } = tree;
	const end = outcome?.best?.at(-1);
	const chosen = end === undefined ? undefined : tree.node(end);
	return {
		nodes: tree.nodeCount,
		depth,
		best:
			chosen !== undefined && outcome?.best
				? { path: outcome.best, value: outcome.value ?? chosen.score ?? tree.q(chosen.id) }
				: best === null
					? null
					: { path: tree.pathTo(best.id), value: best.value },
		measure: null,
		counts: { final, roots: tree.roots.length, visits: tree.nodes[0]?.visits ?? 0 },
	};
}
