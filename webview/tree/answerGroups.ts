import { normalizeAnswer } from '../../src/core/dataset/answer.ts';
import type { SearchTree } from '../../src/core/search/searchTree.ts';
import type { TreeNode } from '../../src/core/search/treeNode.ts';

/** Cache of normalized answers, which are needed again for every event. */
const forms = new Map<string, string>();
const maxForms = 50_000;

function formOf(answer: string): string {
	let form = forms.get(answer);
	if (form === undefined) {
		form = normalizeAnswer(answer);
		if (forms.size >= maxForms) forms.clear();
		forms.set(answer, form);
	}
	return form;
}

/** Returns whether two answers are equal after normalization. */
export function sameAnswer(one: string, other: string): boolean {
	return formOf(one) === formOf(other);
}

/** Nodes with the same answer. */
export interface AnswerGroup {
	readonly answer: string;
	/** Nodes in creation order. */
	readonly nodes: readonly number[];
	/** Maximum node value (or score) in the group, or null if no node has one. */
	readonly best: number | null;
	/** Node with the maximum value. */
	readonly bestNode: number;
	/** Whether this is the gold answer, or null if unknown. */
	readonly correct: boolean | null;
}

/**
 * Groups the answers in a tree, most frequent first. Answers share a group if they are equal after normalization or the
 * search merged them (`merge`).
 */
export function answerGroups(tree: SearchTree): AnswerGroup[] {
	const keys = new Map<string, string>();
	const keyOf = (answer: string): string => {
		let key = formOf(answer);
		for (let up = keys.get(key); up !== undefined && up !== key; up = keys.get(key)) key = up;
		return key;
	};
	const answered: TreeNode[] = [];
	for (const node of tree.nodes) {
		if (node.answer === null) continue;
		answered.push(node);
		const into = node.mergedInto === null ? undefined : tree.node(node.mergedInto);
		if (into?.answer == null) continue;
		const [key, other] = [keyOf(node.answer), keyOf(into.answer)];
		if (key !== other) keys.set(key, other);
	}
	const groups = new Map<string, { answer: string; nodes: number[]; best: number | null; bestNode: number }>();
	for (const node of answered) {
		const key = keyOf(node.answer as string);
		const value = tree.q(node.id) ?? node.score;
		const group = groups.get(key);
		if (group === undefined) {
			groups.set(key, { answer: node.answer as string, nodes: [node.id], best: value, bestNode: node.id });
			continue;
		}
		group.nodes.push(node.id);
		if (value !== null && (group.best === null || value > group.best)) [group.best, group.bestNode] = [value, node.id];
	}
	const gold = tree.start?.problem.answer ?? null;
	const goldKey = gold === null ? null : keyOf(gold);
	return [...groups]
		.map(([key, group]) => ({ ...group, correct: goldKey === null ? null : key === goldKey }))
		.sort((a, b) => b.nodes.length - a.nodes.length);
}
