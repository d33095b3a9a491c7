import { type PairingOptions, type PreferencePair, pairGroup } from '../../export/preferencePairs.ts';
import type { GenerateUnit } from '../search.ts';
import type { SearchTree } from '../searchTree.ts';
import type { TreeNode } from '../treeNode.ts';
import { type Measure, nodeValue, problemOf } from './treeFacts.ts';

export interface SiblingPairOptions extends PairingOptions, Measure {
	/**
	 * Unit of comparison. `step`: two next steps, with the prefix in the prompt (Step-DPO, Lai et al. 2024);
	 * `completion`: the best completion through one node and the worst through the other, with the problem as the prompt.
	 */
	readonly span?: GenerateUnit;
	/** Whether to write messages instead of plain text; only for whole completions. */
	readonly conversational?: boolean;
}

export interface SiblingPair {
	readonly parent: number;
	readonly chosen: number;
	readonly rejected: number;
	readonly pair: PreferencePair;
}

/**
 * Pairs the best and worst continuations of each node, in the format of TRL's DPOTrainer. Nodes without a value are not
 * paired.
 */
export function siblingPairs(tree: SearchTree, options: SiblingPairOptions = {}): SiblingPair[] {
	const whole = options.span === 'completion' || options.conversational === true;
	const { prompt } = problemOf(tree);
	const pairs: SiblingPair[] = [];
	for (const { id: parent, children } of tree.nodes) {
		if (children.length < 2) continue;
		const candidates = children.flatMap((id) => candidateOf(tree, parent, id, options, whole));
		for (const { chosen, rejected } of pairGroup(candidates, options).pairs) {
			const better = candidates.find(({ index }) => index === chosen)?.text ?? '';
			const worst = whole ? endBelow(tree, rejected, options, -1) : null;
			const worse =
				(worst === null ? null : tree.textOf(worst)) ?? candidates.find(({ index }) => index === rejected)?.text ?? '';
			pairs.push({
				parent,
				chosen,
				rejected,
				pair: pairOf(prompt, whole ? '' : tree.textOf(parent), better, worse, options),
			});
		}
	}
	return pairs;
}

/** @param prefix prefix shared by both completions */
function pairOf(
	prompt: string,
	prefix: string,
	chosen: string,
	rejected: string,
	{ conversational }: SiblingPairOptions,
): PreferencePair {
	if (!conversational) return { prompt: prompt + prefix, chosen, rejected };
	const said = (content: string) => [{ role: 'assistant', content }];
	return { prompt: [{ role: 'user', content: prompt }], chosen: said(chosen), rejected: said(rejected) };
}

function candidateOf(tree: SearchTree, parent: number, id: number, options: SiblingPairOptions, whole: boolean) {
	const node = tree.node(id) as TreeNode;
	const reward = nodeValue(tree, id, options);
	// All children of the problem node are comparable; elsewhere, only nodes that continue its text.
	const first = (tree.node(parent) as TreeNode).parents.length === 0;
	if (reward === null || node.mergedInto !== null || node.parents[0] !== parent || (node.fresh && !first)) return [];
	const end = whole ? endBelow(tree, id, options, 1) : id;
	if (end === null) return [];
	const text = whole ? tree.textOf(end) : node.text;
	return text.trim() === '' ? [] : [{ index: id, reward, length: text.length, text }];
}

/**
 * Returns the completion below a node with the highest (sign 1) or lowest (sign -1) value. Completions without a value
 * come last, and ties go to the first. Returns null if no completion has finished.
 */
function endBelow(tree: SearchTree, id: number, measure: Measure, sign: 1 | -1): number | null {
	let best: { readonly id: number; readonly value: number } | null = null;
	const open = [id];
	for (let at = open.pop(); at !== undefined; at = open.pop()) {
		const node = tree.node(at) as TreeNode;
		if (node.final) {
			const given = nodeValue(tree, at, measure);
			const value = given === null ? Number.NEGATIVE_INFINITY : sign * given;
			if (best === null || value > best.value || (value === best.value && at < best.id)) best = { id: at, value };
		}
		for (const child of node.children) {
			const next = tree.node(child) as TreeNode;
			if (next.parents[0] === at && !next.fresh && child > at) open.push(child);
		}
	}
	return best?.id ?? null;
}
