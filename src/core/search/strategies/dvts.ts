import * as v from 'valibot';
import { choice, count } from '../../../protocol/recipeKeys/recipeFields.ts';
import { bestFinal, chainValueBy, distinctFinals, judgeFinals, votedFinal } from '../choice.ts';
import type { Search } from '../search.ts';
import { mergeAlike, openLeaves } from '../siblings.ts';
import { aggregations, chainValue, valueSteps } from '../stepValues.ts';
import type { Strategy } from '../strategy.ts';
import type { TreeNode } from '../treeNode.ts';
import { maxDepth, maxWidth } from './limits.ts';
import { stepUnit } from './stepUnit.ts';

const params = v.strictObject({
	width: v.optional(count('Number of independent subtrees', 1, maxWidth), 4),
	expansions: v.optional(count('Next steps sampled per subtree, of which the best is kept', 1, maxWidth), 4),
	depth: v.optional(count('Max number of steps; the last step completes the solution', 1, maxDepth), 40),
	lookahead: v.optional(count('Number of greedy lookahead steps used to score a step', 0, 100), 0),
	aggregation: v.optional(choice(aggregations, 'How to aggregate step values into a chain value'), 'last'),
	choose: v.optional(
		choice(['value', 'vote'], 'Select the highest-scoring completion, or the answer with the highest sum of values'),
		'value',
	),
});
type Params = v.InferOutput<typeof params>;

/**
 * Diverse verifier tree search (Beeching, Tunstall and Rush 2024): divides the first steps among `width` subtrees. Each
 * subtree continues greedily with its best next step, so that no subtree crowds out another.
 */
export const dvts: Strategy<Params> = {
	name: 'dvts',
	title: 'Diverse Verifier Tree Search',
	description: 'Searches independent subtrees, each of which continues with its best next step.',
	source: 'Beeching, Tunstall and Rush 2024',
	structure: 'tree',
	params,
	needs: { scorer: 'step', policy: ['prefix'] },
	async run(search, p) {
		let trees = leftOff(search, p);
		if (trees.length === 0 && !search.isCut) {
			await search.generate(search.root, {
				n: p.width * p.expansions,
				unit: stepUnit(search, search.tree.node(search.root) as TreeNode, p.depth),
			});
			trees = leftOff(search, p);
		}
		await search.parallel(trees, async (leaves) => {
			let head = await best(search, leaves, p);
			while (!head.final) {
				const next = await search.generate(head.id, { n: p.expansions, unit: stepUnit(search, head, p.depth) });
				if (next.length === 0) return;
				head = await best(search, next, p);
			}
		});
		return { stop: 'complete' };
	},
	async conclude(search, { choose, aggregation }) {
		const finals = await judgeFinals(search, distinctFinals(search));
		const value = chainValueBy(aggregation);
		return choose === 'vote' ? votedFinal(search, finals, true, value) : bestFinal(search, finals, value);
	},
};

/** Returns the highest-valued node and prunes the others. */
async function best(search: Search, leaves: readonly TreeNode[], p: Params): Promise<TreeNode> {
	const distinct = mergeAlike(search, leaves);
	await valueSteps(search, distinct, p.lookahead);
	const valued = distinct.map((node) => ({ id: node.id, node, value: chainValue(search, node, p.aggregation) }));
	const head = valued.reduce((a, b) => (b.value > a.value ? b : a));
	search.select(
		head.id,
		valued.map(({ id, value }) => ({ id, value })),
	);
	for (const { id } of valued) if (id !== head.id) search.prune(id, 'dvts');
	return head.node;
}

/**
 * Returns the open leaves in each unfinished subtree. First steps are assigned to subtrees by position, `expansions`
 * each.
 */
function leftOff(search: Search, { expansions }: Params): TreeNode[][] {
	const { tree, root } = search;
	const place = new Map((tree.node(root) as TreeNode).children.map((child, i) => [child, Math.floor(i / expansions)]));
	const leaves = openLeaves(search).filter(({ id }) => id !== root);
	const trees = Map.groupBy(leaves, ({ id }) => {
		const path = tree.pathTo(id);
		return place.get(path[path.indexOf(root) + 1] as number);
	});
	return [...trees.values()].filter((own) => own.length > 1 || !own.every((node) => node.final));
}
