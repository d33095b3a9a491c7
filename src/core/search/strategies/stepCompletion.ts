import * as v from 'valibot';
import { count } from '../../../protocol/recipeKeys/recipeFields.ts';
import { judgeFinals } from '../choice.ts';
import { completionLabel } from '../export/treeFacts.ts';
import type { GenerateUnit, Search } from '../search.ts';
import type { Strategy } from '../strategy.ts';
import type { TreeNode } from '../treeNode.ts';
import { openChildren } from './ranking.ts';

const paramsSchema = v.strictObject({
	solutions: v.optional(count('Number of solutions to label', 1, 1000), 1),
	completions: v.optional(count('Number of completions sampled from each step (N)', 1, 1000), 8),
	steps: v.optional(
		count(
			'Max number of steps per solution; if it is still unfinished after that, the rest is generated in one completion',
			1,
			1000,
		),
		64,
	),
});
export type StepCompletionParams = v.InferOutput<typeof paramsSchema>;

/**
 * Step labels by completion (section 3.3 of the paper): samples N completions from each step s_i of a solution. The
 * number of completions that reach the correct answer determines the step's label (search/export/stepLabels.ts computes
 * the labels from the tree).
 */
export const stepCompletion: Strategy<StepCompletionParams> = {
	name: 'step-completion',
	title: 'Step Labels by Completion',
	description:
		'Solves the problem step by step and samples completions from each step, to label steps for a process reward model.',
	source: 'Wang et al. 2024 (Math-Shepherd)',
	structure: 'tree',
	params: paramsSchema,
	needs: { policy: ['prefix'] },
	async run(search, params) {
		const firsts = await following(search, search.root, params.solutions);
		const chains = await search.parallel(firsts, (first) => solution(search, first, params.steps));
		const steps = chains.flat().filter(({ final }) => !final);
		await search.parallel(steps, ({ id }) => complete(search, id, params.completions));
		await judgeFinals(search);
		return { stop: firsts.length === 0 ? 'exhausted' : 'complete' };
	},
};

/** Generates the steps of a solution until it is finished. */
async function solution(search: Search, first: TreeNode, steps: number): Promise<TreeNode[]> {
	const chain = [first];
	for (let at = first; !at.final && chain.length <= steps; ) {
		const [next] = await following(search, at.id, 1, chain.length === steps ? 'completion' : 'step');
		if (next === undefined) break;
		chain.push(next);
		at = next;
	}
	return chain;
}

/** Returns n continuations of a node, reusing those in the tree and generating the rest. */
async function following(search: Search, node: number, n: number, unit: GenerateUnit = 'step') {
	const there = openChildren(search, node)
		.map((id) => search.tree.node(id) as TreeNode)
		.filter(({ label }) => label !== completionLabel)
		.slice(0, n);
	const missing = n - there.length;
	return missing === 0 ? there : [...there, ...(await search.generate(node, { n: missing, unit }))];
}

async function complete(search: Search, node: number, n: number): Promise<void> {
	const there = openChildren(search, node).filter((id) => search.tree.node(id)?.label === completionLabel);
	const missing = n - there.length;
	if (missing > 0) await search.generate(node, { n: missing, unit: 'completion', label: completionLabel });
}
