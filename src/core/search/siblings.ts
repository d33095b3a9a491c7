import type { Search } from './search.ts';
import type { SearchTree } from './searchTree.ts';
import type { TreeNode } from './treeNode.ts';

/** Labels of nodes that are used only to evaluate other nodes; strategies do not continue from them. */
export const aside = { lookahead: 'lookahead', rollout: 'rollout' } as const;

const isAside = ({ label }: TreeNode): boolean =>
	label !== null && (label === aside.lookahead || label === aside.rollout);

/**
 * Returns whether a strategy can continue from a node: it was not pruned or merged, and is not used only to evaluate
 * another node. A final node with the same answer as another one stays open, because it has separate votes and visits.
 */
export const isOpen = (node: TreeNode, tree: SearchTree): boolean =>
	node.pruned === null && !(node.mergedInto !== null && (!node.final || isRepeated(node, tree))) && !isAside(node);

/** Returns whether a node was merged into an identical sibling. */
export const isRepeated = (node: TreeNode, tree: SearchTree): boolean =>
	node.mergedInto !== null && keyOf(node) === keyOf(tree.node(node.mergedInto) as TreeNode);

/** Returns a key that duplicate siblings share. */
const keyOf = ({ parents, text, final }: TreeNode): string => `${parents[0]} ${final}\n${text.trim()}`;

/** Merges duplicate siblings into the first one; returns those of the given nodes that remain. */
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

/** Returns a node's children, including merged and pruned ones but not those used only to evaluate it. */
export const ownChildren = (node: TreeNode, tree: SearchTree): number[] =>
	node.children.filter((child) => !isAside(tree.node(child) as TreeNode));

/** Returns the nodes at or below the start of the search that can be continued and have no children yet. */
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
