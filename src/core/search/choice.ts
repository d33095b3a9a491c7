import type { Scorer } from './scorer.ts';
import type { Search } from './search.ts';
import type { SearchTree } from './searchTree.ts';
import { isRepeated } from './siblings.ts';
import { type Aggregation, chainValue } from './stepValues.ts';
import type { Conclusion } from './strategy.ts';
import type { TreeNode } from './treeNode.ts';

/**
 * Returns the final nodes below the start of the search, in order. Excludes pruned nodes, their continuations, and
 * duplicates of pruned completions.
 */
export function finalsOf(search: Search): TreeNode[] {
	const { tree, root } = search;
	const inside = new Set([root]);
	const pruned = new Set<number>();
	const finals: TreeNode[] = [];
	for (let id = root; id < tree.nodes.length; id++) {
		const node = tree.nodes[id] as TreeNode;
		if (root !== 0 && id !== root && !node.parents.some((parent) => inside.has(parent))) continue;
		if (root !== 0) inside.add(id);
		// A fresh node does not depend on its parent's text.
		if (node.pruned !== null || (!node.fresh && pruned.has(node.parents[0] as number))) pruned.add(id);
		else if (node.final) finals.push(node);
	}
	return finals.filter((node) => !saysWhatIsGone(node, tree, pruned));
}

/**
 * Returns the final nodes. In searches that merge duplicate steps, returns each distinct completion once. Completions
 * merged because they state the same answer are kept.
 */
export const distinctFinals = (search: Search): TreeNode[] =>
	finalsOf(search).filter((node) => !isRepeated(node, search.tree));

/** Returns whether a node was merged into a pruned completion with the same text. */
function saysWhatIsGone(node: TreeNode, tree: SearchTree, gone: ReadonlySet<number>): boolean {
	const seen = new Set<number>();
	const said = node.mergedInto === null ? '' : sayingOf(tree, node.id);
	for (let into = node.mergedInto; into !== null && !seen.has(into); into = tree.node(into)?.mergedInto ?? null) {
		if (sayingOf(tree, into) !== said) return false;
		if (gone.has(into)) return true;
		seen.add(into);
	}
	return false;
}

const sayingOf = (tree: SearchTree, id: number): string => tree.textOf(id).replace(/\s+/g, ' ').trim();

/** Returns the scorer used for selection: the judge if there is one, otherwise the guide. */
export const chooser = (search: Search): Scorer | null => search.judge ?? search.guide;

/** Returns the selecting scorer's value for a final node; null if there is none. */
export function finalValue(search: Search, node: TreeNode): number | null {
	const scorer = chooser(search);
	return scorer === null ? null : (node.scores.get(scorer.name) ?? null);
}

/** Value of a final node for selection; null if unknown. */
export type Worth = (search: Search, node: TreeNode) => number | null;

/**
 * Scores completions by their chain of steps, as during the search. If there is a judge in addition to the guide, the
 * judge scores whole completions without aggregation.
 */
export const chainValueBy =
	(how: Aggregation): Worth =>
	(search, node) => {
		const last = finalValue(search, node);
		return last === null || chooser(search) !== search.guide ? last : chainValue(search, node, how);
	};

/** Scores all final nodes that have no value yet, using the selecting scorer. */
export async function judgeFinals(
	search: Search,
	finals: readonly TreeNode[] = finalsOf(search),
): Promise<readonly TreeNode[]> {
	const scorer = chooser(search);
	if (scorer !== null) {
		const open = finals.filter((node) => !node.scores.has(scorer.name)).map(({ id }) => id);
		if (open.length > 0) await search.evaluate(open, scorer);
	}
	return finals;
}

/**
 * Returns the node with the highest value (the first if tied). If no node has a value, returns the first one that
 * states an answer.
 */
export function bestFinal(search: Search, finals: readonly TreeNode[], worth: Worth = finalValue): Conclusion {
	let best: TreeNode | null = null;
	let value: number | null = null;
	for (const node of finals) {
		const own = worth(search, node);
		if (own !== null && (value === null || own > value)) [best, value] = [node, own];
	}
	best ??= finals.find(({ answer }) => answer !== null) ?? finals[0] ?? null;
	return { best: best?.id ?? null, answer: best?.answer ?? null, value };
}

/**
 * Returns the answer stated by the most final nodes (Wang et al. 2023) or, if weighted, the one with the highest sum of
 * node values (Cobbe et al. 2021, Li et al. 2023): argmax over answers a of the sum over nodes i of w_i [a_i = a], with
 * w_i = 1 or the node's value. The result points to the highest-valued node with that answer. Ties go to the first
 * answer. Nodes without an answer do not vote; if no node has an answer, the best final node is returned.
 */
export async function votedFinal(
	search: Search,
	finals: readonly TreeNode[],
	weighted: boolean,
	worth: Worth = finalValue,
): Promise<Conclusion> {
	const groups = new Map<number, { answer: string; sum: number; nodes: TreeNode[] }>();
	let votes = 0;
	for (const node of finals) {
		const { answer } = node;
		if (answer === null) continue;
		const weight = weighted ? (worth(search, node) ?? 0) : 1;
		votes += weight;
		// Comparing many answers can be slow; yields so that the search can be stopped.
		const breath = search.breathe();
		if (breath !== null) await breath;
		const of = search.answerClass(answer);
		let group = groups.get(of);
		if (group === undefined) {
			group = { answer, sum: 0, nodes: [] };
			groups.set(of, group);
		} else if (node.mergedInto === null) search.merge(node.id, (group.nodes[0] as TreeNode).id);
		group.sum += weight;
		group.nodes.push(node);
	}
	if (groups.size === 0) return bestFinal(search, finals, worth);
	const winner = [...groups.values()].reduce((a, b) => (b.sum > a.sum ? b : a));
	const { best } = bestFinal(search, winner.nodes, worth);
	// Unweighted votes use the fraction, because the sum grows with the number of samples. Weighted votes keep the sum,
	// because rewards can be negative.
	const value = weighted ? winner.sum : winner.sum / votes;
	return { best: best ?? null, answer: winner.answer, value };
}
