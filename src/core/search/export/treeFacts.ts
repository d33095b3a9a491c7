import type { SearchProblem } from '../../../protocol/treeLog.ts';
import type { SearchTree, TreeNode } from '../searchTree.ts';

/**
 * How exports value a node: the name of a scorer; absent: Q if simulations went through the node, otherwise its last
 * score.
 */
export interface Measure {
	readonly scorer?: string;
}

/** null if it has no such value. */
export function nodeValue(tree: SearchTree, id: number, { scorer }: Measure = {}): number | null {
	const node = tree.node(id);
	if (node === undefined) return null;
	return scorer === undefined ? (tree.q(id) ?? node.score) : (node.scores.get(scorer) ?? null);
}

/** Returns the problem of a search; for a log without a start event, the text of its first node. */
export function problemOf(tree: SearchTree): SearchProblem {
	return tree.start?.problem ?? { prompt: tree.node(0)?.text ?? '', answer: null, row: {} };
}

/** Returns finished completions, without those merged as duplicates. */
export function endsOf(tree: SearchTree): TreeNode[] {
	return tree.nodes.filter(({ final, mergedInto, role }) => final && mergedInto === null && role !== 'problem');
}

/** Label of completions sampled to value a step, which are not solutions themselves (strategy `step-completion`). */
export const completionLabel = 'Completion';

/** Whether a finished completion is correct; null if unknown. */
export type Right = (end: TreeNode) => boolean | null;

/** Judges by the stated answer; without one, a completion is incorrect. */
export function rightByAnswer(gold: string, same: (a: string, b: string) => boolean): Right {
	return ({ answer }) => answer !== null && same(answer, gold);
}

/** Judges by the value of a scorer: above 0.5 is correct, as for 0/1 rewards. */
export function rightByScore(scorer: string): Right {
	return ({ scores }) => {
		const value = scores.get(scorer) ?? null;
		return value === null ? null : value > 0.5;
	};
}
