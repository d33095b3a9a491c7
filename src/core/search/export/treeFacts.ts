import type { SearchProblem } from '../../../protocol/treeLog.ts';
import type { SearchTree } from '../searchTree.ts';
import type { TreeNode } from '../treeNode.ts';

/**
 * How exports evaluate a node: by the named scorer or, by default, by Q if the node was visited by simulations and
 * otherwise by its last score.
 */
export interface Measure {
	readonly scorer?: string;
}

/** Returns the value of a node; null if it has none. */
export function nodeValue(tree: SearchTree, id: number, { scorer }: Measure = {}): number | null {
	const node = tree.node(id);
	if (node === undefined) return null;
	return scorer === undefined ? (tree.q(id) ?? node.score) : (node.scores.get(scorer) ?? null);
}

/** Returns a search's problem, or the text of the first node if the log has no start event. */
export function problemOf(tree: SearchTree): SearchProblem {
	return tree.start?.problem ?? { prompt: tree.node(0)?.text ?? '', answer: null, row: {} };
}

/** Returns finished completions, excluding merged duplicates. */
export function endsOf(tree: SearchTree): TreeNode[] {
	return tree.nodes.filter(({ final, mergedInto, role }) => final && mergedInto === null && role !== 'problem');
}

/**
 * Label for completions that were sampled to evaluate a step and are not solutions themselves (`step-completion`
 * strategy).
 */
export const completionLabel = 'Completion';

/** Whether a finished completion is correct; null if unknown. */
export type Right = (end: TreeNode) => boolean | null;
