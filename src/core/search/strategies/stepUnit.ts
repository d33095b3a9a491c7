import type { GenerateUnit, Search } from '../search.ts';
import type { TreeNode } from '../searchTree.ts';

/** What is generated below a node: a step, or all that is left where `depth` steps from where the search began are reached. */
export function stepUnit({ tree, root }: Search, node: TreeNode, depth: number): GenerateUnit {
	return node.depth - (tree.node(root) as TreeNode).depth + 1 < depth ? 'step' : 'completion';
}
