import * as v from 'valibot';
import { choice, count, real } from '../../../protocol/recipeKeys/recipeFields.ts';
import { bestFinal, chainValueBy, distinctFinals, judgeFinals, votedFinal } from '../choice.ts';
import type { Search } from '../search.ts';
import { mergeAlike, openLeaves, ownChildren } from '../siblings.ts';
import { aggregations, chainValue, valueSteps } from '../stepValues.ts';
import type { Strategy } from '../strategy.ts';
import type { TreeNode } from '../treeNode.ts';
import { maxDepth, maxWidth } from './limits.ts';
import { stepUnit } from './stepUnit.ts';

const params = v.strictObject({
	width: v.optional(count('Number of beams kept after each step', 1, maxWidth), 4),
	expansions: v.optional(
		count('Number of next steps sampled per beam. The first step samples this many for each beam to keep', 1, maxWidth),
		4,
	),
	depth: v.optional(count('Max number of steps; the last step completes the solution', 1, maxDepth), 40),
	lookahead: v.optional(count('Number of greedy lookahead steps used to score a step', 0, 100), 0),
	aggregation: v.optional(choice(aggregations, 'How to aggregate step values into a beam value'), 'last'),
	diversity: v.optional(
		real('Penalty for similarity to a beam already kept (diverse beam search); 0 disables it', 0),
		0,
	),
	choose: v.optional(
		choice(['value', 'vote'], 'Select the highest-scoring completion, or the answer with the highest sum of values'),
		'value',
	),
});
type Params = v.InferOutput<typeof params>;

/**
 * Beam search over steps (Snell et al. 2024, section 5.2): among the next steps from all beams, keeps the best `width`
 * according to the guide. Finished beams are collected as results; the search ends when all beams have finished.
 */
export const beam: Strategy<Params> = {
	name: 'beam',
	title: 'Beam Search',
	description: 'Extends the prefixes with the highest guide values, step by step.',
	source: 'Snell et al. 2024; Vijayakumar et al. 2018 (diverse)',
	structure: 'tree',
	params,
	needs: { scorer: 'step', policy: ['prefix'] },
	async run(search, p) {
		if (search.isCut) await complete(search, p);
		let { beams, ahead } = leftOff(search);
		// The log was interrupted before all candidates for the last step were scored. The candidates include finished
		// beams.
		if (ahead.length === 0 && beams.length > p.width) beams = await best(search, beams, p);
		beams = beams.filter(isUnfinished);
		while (beams.length > 0) {
			const made = await search.parallel(beams, (node) => expand(search, node, p));
			const kept = await best(search, [...ahead, ...made.flat()], p);
			beams = kept.filter(isUnfinished);
			ahead = [];
		}
		return { stop: 'complete' };
	},
	async conclude(search, { choose, aggregation }) {
		const finals = await judgeFinals(search, distinctFinals(search));
		const value = chainValueBy(aggregation);
		return choose === 'vote' ? votedFinal(search, finals, true, value) : bestFinal(search, finals, value);
	},
};

const isUnfinished = ({ final }: TreeNode): boolean => !final;

/** Completes an interrupted step: samples the missing children of its parents and merges duplicates. */
async function complete(search: Search, p: Params): Promise<void> {
	const { tree } = search;
	const leaves = openLeaves(search).filter(({ id }) => id !== search.root);
	const parents = new Set(leaves.map((leaf) => leaf.parents[0] as number));
	await search.parallel([...parents], async (id) => {
		const node = tree.node(id) as TreeNode;
		const missing = wanted(search, node, p) - ownChildren(node, tree).length;
		if (missing > 0) await search.generate(id, { n: missing, unit: stepUnit(search, node, p.depth) });
	});
	mergeAlike(
		search,
		openLeaves(search).filter(({ id }) => id !== search.root),
	);
}

const wanted = (search: Search, { id }: TreeNode, { width, expansions }: Params): number =>
	id === search.root ? width * expansions : expansions;

async function expand(search: Search, node: TreeNode, p: Params): Promise<TreeNode[]> {
	const children = await search.generate(node.id, {
		n: wanted(search, node, p),
		unit: stepUnit(search, node, p.depth),
	});
	return mergeAlike(search, children);
}

/** Returns the highest-valued candidates and prunes the others. */
async function best(search: Search, candidates: readonly TreeNode[], p: Params): Promise<TreeNode[]> {
	await valueSteps(search, candidates, p.lookahead);
	const left = candidates.map((node) => ({ node, value: chainValue(search, node, p.aggregation) }));
	const kept: TreeNode[] = [];
	while (kept.length < p.width && left.length > 0) {
		const scores = left.map(({ node, value }) => value - p.diversity * mostAlike(node, kept, p.diversity));
		const place = scores.indexOf(Math.max(...scores));
		const [taken] = left.splice(place, 1) as [(typeof left)[number]];
		search.select(
			taken.node.id,
			[taken, ...left].map(({ node, value }) => ({ id: node.id, value })),
		);
		kept.push(taken.node);
	}
	for (const { node } of left) search.prune(node.id, 'beam');
	return kept;
}

/** Returns the similarity to the most similar kept step, or 0 if there is no penalty. */
function mostAlike(node: TreeNode, kept: readonly TreeNode[], diversity: number): number {
	return diversity === 0 || kept.length === 0 ? 0 : Math.max(...kept.map((other) => likeness(node.text, other.text)));
}

/** Jaccard similarity between the word sets of two steps; 1 if they are equal. */
function likeness(a: string, b: string): number {
	const words = (text: string) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu));
	const [x, y] = [words(a), words(b)];
	const all = new Set([...x, ...y]).size;
	const both = x.size + y.size - all;
	return all === 0 ? 1 : both / all;
}

/**
 * Finds the beams in a tree, which are the open nodes at the lowest level. If the log was interrupted during a step,
 * `ahead` contains the nodes already generated for it. If all beams have finished, the search restarts with more
 * samples; if the log was interrupted, no work remains.
 */
function leftOff(search: Search): { beams: TreeNode[]; ahead: TreeNode[] } {
	const leaves = openLeaves(search);
	const level = Math.min(...leaves.filter((node) => !node.final).map(({ depth }) => depth));
	if (level === Number.POSITIVE_INFINITY) {
		return { beams: search.isCut ? [] : [search.tree.node(search.root) as TreeNode], ahead: [] };
	}
	return {
		beams: leaves.filter((node) => node.depth === level),
		ahead: leaves.filter((node) => node.depth === level + 1),
	};
}
