import type { SearchTree } from '../../src/core/search/searchTree.ts';
import type { TreeNode } from '../../src/core/search/treeNode.ts';

export const nodeFilters = ['all', 'open', 'answers', 'visited', 'best', 'person'] as const;
/** Node filters. Ancestors of matching nodes are always visible. */
export type NodeFilter = (typeof nodeFilters)[number];

export const nodeFilterNames: Readonly<Record<NodeFilter, string>> = {
	all: 'All nodes',
	open: 'Not pruned',
	answers: 'Paths to answers',
	visited: 'Visited',
	best: 'Best path',
	person: 'Added by user',
};

/** Returns a node predicate, or undefined for no filter. */
export function wantedBy(filter: NodeFilter, tree: SearchTree): ((node: TreeNode) => boolean) | undefined {
	switch (filter) {
		case 'all':
			return undefined;
		case 'open': {
			const pruned = new Uint8Array(tree.nodes.length);
			for (const { id, pruned: reason, parents } of tree.nodes) {
				// Descendants of pruned nodes count as pruned.
				if (reason !== null || (parents[0] !== undefined && pruned[parents[0]] === 1)) pruned[id] = 1;
			}
			return ({ id }) => pruned[id] === 0;
		}
		case 'answers':
			return ({ answer, final }) => answer !== null || final;
		case 'visited':
			return ({ visits }) => visits > 0;
		case 'best': {
			const best = new Set(tree.outcome?.best ?? []);
			return ({ id }) => best.has(id);
		}
		case 'person':
			return ({ by }) => by === 'person';
	}
}
