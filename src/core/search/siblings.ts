import type { Search } from './search.ts';
import type { SearchTree, TreeNode } from './searchTree.ts';

/** Labels of nodes that are there to value others: a strategy does not go on from them. */
export const aside = { lookahead: 'lookahead', rollout: 'rollout' } as const;

const isAside = ({ label }: TreeNode): boolean =>
	label !== null && (label === aside.lookahead || label === aside.rollout);

/**
 * Whether a strategy may go on with a node: it was neither pruned nor merged, and is there for its own sake. That a final
 * node states the same answer as one elsewhere closes it not: its votes and visits are its own.
 */
export const isOpen = (node: TreeNode, tree: SearchTree): boolean =>
	node.pruned === null && !(node.mergedInto !== null && (!node.final || isRepeated(node, tree))) && !isAside(node);

/** Whether a node was merged into a sibling that says the same. */
export const isRepeated = (node: TreeNode, tree: SearchTree): boolean =>
	node.mergedInto !== null && keyOf(node) === keyOf(tree.node(node.mergedInto) as TreeNode);

/** Siblings that have it in common say the same. */
const keyOf = ({ parents, text, final }: TreeNode): string => `${parents[0]} ${final}\n${text.trim()}`;

/** Merges siblings that say the same into the first of them; returns those that are left of the given ones. */
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

/** Children of a node that are there for their own sake, merged and pruned ones too. */
export const ownChildren = (node: TreeNode, tree: SearchTree): number[] =>
	node.children.filter((child) => !isAside(tree.node(child) as TreeNode));

/** Nodes below where the search began, that one included, with which it may go on and from which nothing was made yet. */
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
