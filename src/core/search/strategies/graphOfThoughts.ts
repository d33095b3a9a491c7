import * as v from 'valibot';
import { choice, count, text } from '../../../protocol/recipeKeys/recipeFields.ts';
import { chooser } from '../choice.ts';
import { fillPrompt, numbered, user } from '../prompts/fillPrompt.ts';
import { aggregatePrompt, improvePrompt, scoreForm, scorePrompt } from '../prompts/graphOfThoughts.ts';
import type { GenerateOptions, Search } from '../search.ts';
import { valueByPrompt } from '../selfJudging.ts';
import type { Strategy } from '../strategy.ts';
import type { TreeNode } from '../treeNode.ts';
import { bestByScore, madeChildren, ranked, type Valued, valuesByScorer } from './ranking.ts';

const paramsSchema = v.strictObject({
	thoughts: v.optional(count('Number of initial solutions', 1, 256), 4),
	keep: v.optional(count('How many of the best solutions to keep and combine', 2, 64), 3),
	attempts: v.optional(count('Number of aggregates generated from the kept solutions', 1, 64), 2),
	layers: v.optional(count('Number of aggregation rounds', 1, 16), 1),
	refine: v.optional(count('Number of improvement rounds per aggregate', 0, 16), 1),
	evaluate: v.optional(
		choice(['value', 'scorer'], 'Whether solutions are scored by the policy or the scorer'),
		'value',
	),
	samples: v.optional(count('Number of scores sampled per solution', 1, 64), 1),
	aggregatePrompt: v.optional(text('Aggregation prompt: {problem}, {thoughts}'), aggregatePrompt),
	improvePrompt: v.optional(text('Improvement prompt: {problem}, {thought}'), improvePrompt),
	scorePrompt: v.optional(text('Scoring prompt: {problem}, {thought}'), scorePrompt),
});
export type GraphOfThoughtsParams = v.InferOutput<typeof paramsSchema>;

/**
 * Graph of Thoughts with the operations Generate, Score, KeepBestN, Aggregate and Refine (Improve), in the paper's
 * order for merging tasks.
 */
export const graphOfThoughts: Strategy<GraphOfThoughtsParams> = {
	name: 'graph-of-thoughts',
	title: 'Graph of Thoughts',
	description: 'Generates several solutions, combines the best into one, improves it, and keeps the best overall.',
	source: 'Besta et al. 2024',
	structure: 'graph',
	params: paramsSchema,
	needs: { policy: ['instructions'] },
	needsWith: ({ evaluate }) => (evaluate === 'scorer' ? { scorer: 'final' } : {}),
	async run(search, params) {
		let thoughts = await made(search, search.root, { role: 'draft' }, params.thoughts);
		for (let layer = 1; layer <= params.layers; layer++) {
			const best = await keepBest(search, thoughts, params.keep, params);
			if (best.length < 2) break;
			const aggregates = await aggregate(search, best, params);
			const improved = await search.parallel(aggregates, (thought) => refine(search, thought, params));
			thoughts = [...best.map(({ id }) => id), ...aggregates, ...improved.flat()];
		}
		await valuesOf(search, thoughts, params);
		return { stop: thoughts.length === 0 ? 'exhausted' : 'complete' };
	},
	conclude: (search, { evaluate }) =>
		bestByScore(search, evaluate === 'scorer' ? (chooser(search)?.name ?? '') : scorerName),
};

const scorerName = 'score prompt';

/** Implements Score and KeepBestN. */
async function keepBest(
	search: Search,
	thoughts: readonly number[],
	n: number,
	params: GraphOfThoughtsParams,
): Promise<Valued[]> {
	const order = ranked(thoughts, await valuesOf(search, thoughts, params));
	for (const { id } of order.slice(n)) search.prune(id, `Not among the best ${n}`);
	const shown = order.flatMap(({ id, value }) => (value === null ? [] : [{ id, value }]));
	for (const { id } of order.slice(0, n)) search.select(id, shown);
	return order.slice(0, n);
}

/** Implements Aggregate: combines several thoughts into one whose parents are all of those thoughts. */
function aggregate(search: Search, best: readonly Valued[], params: GraphOfThoughtsParams): Promise<number[]> {
	const parents = best.map(({ id }) => id);
	const thoughts = numbered(
		parents.map((id) => search.textOf(id)),
		'Solution',
	);
	const messages = [user(fillPrompt(params.aggregatePrompt, { problem: search.problem.prompt, thoughts }))];
	return made(search, parents[0] as number, { role: 'aggregate', parents, messages }, params.attempts);
}

/** Implements Refine: each round improves the result of the previous round. */
async function refine(search: Search, thought: number, params: GraphOfThoughtsParams): Promise<number[]> {
	const improved: number[] = [];
	for (let round = 1; round <= params.refine; round++) {
		const last = improved.at(-1) ?? thought;
		const texts = { problem: search.problem.prompt, thought: search.textOf(last).trim() };
		const messages = [user(fillPrompt(params.improvePrompt, texts))];
		const [next] = await made(search, last, { role: 'revision', messages }, 1);
		if (next === undefined) break;
		improved.push(next);
	}
	return improved;
}

function valuesOf(search: Search, thoughts: readonly number[], params: GraphOfThoughtsParams) {
	if (params.evaluate === 'scorer') return valuesByScorer(search, thoughts, chooser(search));
	return valueByPrompt(search, thoughts, {
		scorer: scorerName,
		form: scoreForm,
		samples: params.samples,
		messages: (id) => {
			const texts = { problem: search.problem.prompt, thought: search.textOf(id).trim() };
			return [user(fillPrompt(params.scorePrompt, texts))];
		},
	});
}

/** Returns complete solutions below a node, starting with those already in the tree. */
async function made(
	search: Search,
	node: number,
	options: Omit<GenerateOptions, 'unit'>,
	n: number,
): Promise<number[]> {
	const { parents = [node], role } = options;
	const alike = ({ role: its, parents: of }: TreeNode) => its === role && of.join() === parents.join();
	const there = madeChildren(search, node).filter((id) => alike(search.tree.node(id) as TreeNode));
	const missing = n - there.length;
	const more =
		missing > 0 ? await search.generate(node, { ...options, n: missing, unit: 'completion', fresh: true }) : [];
	return [...there, ...more.map(({ id }) => id)];
}
