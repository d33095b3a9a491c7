import type { GenerateUnit, Search } from '../search.ts';
import type { TreeNode } from '../treeNode.ts';

/**
 * Returns the unit to generate below a node: a step, or the rest of the completion if the new node would be at least
 * `depth` steps below the start of the search.
 */
export function stepUnit({ tree, root }: Search, node: TreeNode, depth: number): GenerateUnit {
	return node.depth - (tree.node(root) as TreeNode).depth + 1 < depth ? 'step' : 'completion';
}
