import type { SearchProblem } from '../../../protocol/treeLog.ts';
import type { SearchTree, TreeNode } from '../searchTree.ts';

/** By what exports value a node: a scorer's name; absent: Q where simulations went through it, else its last score. */
export interface Measure {
	readonly scorer?: string;
}

/** null: it has no such value. */
export function nodeValue(tree: SearchTree, id: number, { scorer }: Measure = {}): number | null {
	const node = tree.node(id);
	if (node === undefined) return null;
	return scorer === undefined ? (tree.q(id) ?? node.score) : (node.scores.get(scorer) ?? null);
}

/** The problem of a search; of a log without its start what its first node says. */
export function problemOf(tree: SearchTree): SearchProblem {
	return tree.start?.problem ?? { prompt: tree.node(0)?.text ?? '', answer: null, row: {} };
}

/** Completions that have come to their end, those alone that are not the same as another one. */
export function endsOf(tree: SearchTree): TreeNode[] {
	return tree.nodes.filter(({ final, mergedInto, role }) => final && mergedInto === null && role !== 'problem');
}

/** Label of completions that were made to value a step, and are no solutions of their own (strategy `step-completion`). */
export const completionLabel = 'Completion';

/** Whether a completion that has ended is right; null: nobody can say. */
export type Right = (end: TreeNode) => boolean | null;

/** By the answer that it states; without one it is wrong. */
export function rightByAnswer(gold: string, same: (a: string, b: string) => boolean): Right {
	return ({ answer }) => answer !== null && same(answer, gold);
}

/** By a scorer's value: above one half is right, as rewards of 0 and 1 have it. */
export function rightByScore(scorer: string): Right {
	return ({ scores }) => {
		const value = scores.get(scorer) ?? null;
		return value === null ? null : value > 0.5;
	};
}
