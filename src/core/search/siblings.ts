import type { Search } from './search.ts';
import type { SearchTree, TreeNode } from './searchTree.ts';

/** Labels of nodes that exist only to value others; strategies do not continue from them. */
export const aside = { lookahead: 'lookahead', rollout: 'rollout' } as const;

const isAside = ({ label }: TreeNode): boolean =>
	label !== null && (label === aside.lookahead || label === aside.rollout);

/**
 * Whether a strategy may continue from a node: it was neither pruned nor merged, and does not exist only to value
 * another. A final node that states the same answer as another one stays open: its votes and visits are its own.
 */
export const isOpen = (node: TreeNode, tree: SearchTree): boolean =>
	node.pruned === null && !(node.mergedInto !== null && (!node.final || isRepeated(node, tree))) && !isAside(node);

/** Whether a node was merged into an identical sibling. */
export const isRepeated = (node: TreeNode, tree: SearchTree): boolean =>
	node.mergedInto !== null && keyOf(node) === keyOf(tree.node(node.mergedInto) as TreeNode);

/** Siblings with the same key are duplicates. */
const keyOf = ({ parents, text, final }: TreeNode): string => `${parents[0]} ${final}\n${text.trim()}`;

/** Merges duplicate siblings into the first of them; returns the remaining ones of the given nodes. */
export function mergeAlike(search: Search, nodes: readonly TreeNode[]): TreeNode[] {
	if (nodes.length < 2) return [...nodes];
	const first = new Map<string, number>();
	return nodes.filter((node) => {
		const key = keyOf(node);
		const same = first.get(key);
		if (same === undefined) first.set(key, node.id);
		else search.merge(node.id, same);
		return same === undefined;
	});
}

/** Children of a node that do not exist only to value it, including merged and pruned ones. */
export const ownChildren = (node: TreeNode, tree: SearchTree): number[] =>
	node.children.filter((child) => !isAside(tree.node(child) as TreeNode));

/** Nodes at or below the start of the search that can be continued and have no children yet. */
export function openLeaves(search: Search): TreeNode[] {
	const { tree, root } = search;
	const leaves: TreeNode[] = [];
	const stack = [root];
	const seen = new Set(stack);
	for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
		const node = tree.node(id) as TreeNode;
		const below = ownChildren(node, tree);
		if (below.length === 0) leaves.push(node);
		for (const child of below) {
			if (seen.has(child) || !isOpen(tree.node(child) as TreeNode, tree)) continue;
			seen.add(child);
			stack.push(child);
		}
	}
	return leaves.sort((a, b) => a.id - b.id);
}
