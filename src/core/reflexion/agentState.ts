import type { SearchTree } from '../search/searchTree.ts';
import type { TreeNode } from '../search/treeNode.ts';
import type { Critique } from './criticism.ts';

const isAnswer = ({ role, pruned }: TreeNode): boolean => (role === 'draft' || role === 'revision') && pruned === null;

/** Returns all answers below a node, in order. */
export function answersBelow(tree: SearchTree, root: number): TreeNode[] {
	return tree.nodes.filter((node) => isAnswer(node) && (node.id === root || tree.pathTo(node.id).includes(root)));
}

/**
 * Returns the answer to revise: the newest answer below a node or, if there is none, the answer that the node belongs
 * to.
 */
export function latestAnswer(tree: SearchTree, root: number): TreeNode | null {
	const below = answersBelow(tree, root).at(-1);
	if (below !== undefined) return below;
	const above = tree.pathTo(root).map((id) => tree.node(id) as TreeNode);
	return above.findLast(isAnswer) ?? null;
}

/** Returns the policy's critique of its answer, or null if the user wrote the answer. */
export function critiqueOf(
	tree: SearchTree,
	id: number,
): (Critique & { readonly addressed: readonly number[] }) | null {
	const note = tree.notesOf(id).findLast((one) => one.t === 'critique');
	return note?.t === 'critique' ? note : null;
}

/** Returns the sources that an answer cites; `[1]` is the first. */
export function referencesOf(tree: SearchTree, id: number): string[] {
	const list: string[] = [];
	for (const note of tree.notesOf(id)) {
		const number = note.t === 'reference' ? Number(/^\[(\d{1,4})\]$/.exec(note.label)?.[1]) : Number.NaN;
		if (note.t === 'reference' && number >= 1) list[number - 1] = note.source;
	}
	return Array.from(list, (source) => source ?? '');
}
