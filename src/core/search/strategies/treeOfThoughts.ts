import * as v from 'valibot';
import { choice, count, real, text } from '../../../protocol/recipeKeys/recipeFields.ts';
import { answerForm, finishingAnswer } from '../prompts/answerForm.ts';
import { fillPrompt, numbered, user } from '../prompts/fillPrompt.ts';
import { readList } from '../prompts/readReply.ts';
import { proposePrompt, valueForm, valuePrompt, votePrompt } from '../prompts/treeOfThoughts.ts';
import type { Search } from '../search.ts';
import { valueByPrompt, voteByPrompt } from '../selfJudging.ts';
import type { Strategy, StrategyEnd } from '../strategy.ts';
import { bestByScore, distinct, openChildren, ranked, type Valued, valuesByScorer } from './ranking.ts';

const paramsSchema = v.strictObject({
	search: v.optional(
		choice(
			['bfs', 'dfs'],
			'Breadth-first keeps the best states after each step; depth-first follows the best state and backtracks',
		),
		'bfs',
	),
	generate: v.optional(
		choice(['propose', 'sample'], 'Sample thoughts as one list in a single request, or in separate requests'),
		'propose',
	),
	evaluate: v.optional(
		choice(
			['value', 'vote', 'scorer'],
			'Whether the policy scores each state, the policy votes among the states, or the scorer scores them',
		),
		'value',
	),
	thoughts: v.optional(count('Number of thoughts per state (k)', 1, 64), 5),
	breadth: v.optional(count('Breadth-first: number of states kept after each step (b)', 1, 256), 5),
	depth: v.optional(count('Number of thought steps (T); states without an answer are then completed', 1, 64), 3),
	threshold: v.optional(real('Depth-first: backtrack if the value does not exceed this threshold', 0, 1), 0.001),
	solutions: v.optional(count('Depth-first: stop after this many answers above the threshold', 1, 1000), 1),
	samples: v.optional(count('Number of evaluations or votes per value', 1, 64), 3),
	proposePrompt: v.optional(text('Thought prompt: {problem}, {steps}, {k}, {form}'), proposePrompt),
	valuePrompt: v.optional(text('Value prompt: {problem}, {steps}'), valuePrompt),
	votePrompt: v.optional(text('Voting prompt: {problem}, {choices}'), votePrompt),
});
export type TreeOfThoughtsParams = v.InferOutput<typeof paramsSchema>;

export const treeOfThoughts: Strategy<TreeOfThoughtsParams> = {
	name: 'tree-of-thoughts',
	title: 'Tree of Thoughts',
	description: 'Proposes several next thoughts, evaluates the resulting states, and continues from the best.',
	source: 'Yao et al. 2023',
	structure: 'tree',
	params: paramsSchema,
	needs: {},
	needsWith: ({ generate, evaluate }) => ({
		...(generate === 'propose' || evaluate !== 'scorer' ? { policy: ['instructions' as const] } : {}),
		...(evaluate === 'scorer' ? { scorer: 'step' as const } : {}),
	}),
	run: (search, params) => (params.search === 'bfs' ? breadthFirst(search, params) : depthFirst(search, params)),
	conclude: (search, { evaluate }) =>
		bestByScore(search, evaluate === 'scorer' ? (search.guide?.name ?? '') : scorerNames[evaluate]),
};

const scorerNames = { value: 'value prompt', vote: 'vote' } as const;

/** Algorithm 1, ToT-BFS: repeats T times, keeping the b best states among all successors of the kept ones. */
async function breadthFirst(search: Search, params: TreeOfThoughtsParams): Promise<StrategyEnd> {
	let states: Valued[] = [{ id: search.root, value: null }];
	for (let step = 1; step <= params.depth && !states.every(({ id }) => isFinal(search, id)); step++) {
		const grown = await search.parallel(states, async ({ id }) =>
			isFinal(search, id) ? [id] : thoughts(search, id, params),
		);
		const candidates = distinct(search, grown.flat());
		if (candidates.length === 0) return { stop: 'exhausted' };
		const order = ranked(candidates, await valuesOf(search, candidates, params));
		states = order.slice(0, params.breadth);
		const shown = order.flatMap(({ id, value }) => (value === null ? [] : [{ id, value }]));
		for (const { id } of states) search.select(id, shown);
		for (const { id } of order.slice(params.breadth)) {
			search.prune(id, `Not among the best ${params.breadth} states in step ${step}`);
		}
	}
	const finished = states.find(({ id }) => isFinal(search, id));
	if (finished !== undefined) return { stop: 'complete', best: finished.id, value: finished.value };
	const [best] = states as [Valued];
	const ends = await completed(search, best.id);
	return ends === undefined ? { stop: 'exhausted' } : { stop: 'complete', best: ends, value: best.value };
}

/**
 * Algorithm 2, ToT-DFS: follows the most promising thought first, and backtracks if no thought exceeds the threshold.
 */
async function depthFirst(search: Search, params: TreeOfThoughtsParams): Promise<StrategyEnd> {
	const outputs: Valued[] = [];
	const visit = async (state: Valued, step: number): Promise<void> => {
		if (isFinal(search, state.id)) {
			outputs.push(state);
			return;
		}
		const last = step > params.depth;
		const end = last ? await completed(search, state.id) : undefined;
		const next = last ? (end === undefined ? [] : [end]) : distinct(search, await thoughts(search, state.id, params));
		for (const child of ranked(next, await valuesOf(search, next, params))) {
			if (outputs.length >= params.solutions) return;
			if (child.value !== null && child.value <= params.threshold) {
				search.prune(child.id, `Value does not exceed ${params.threshold}`);
				continue;
			}
			search.select(child.id);
			await visit(child, step + 1);
		}
	};
	await visit({ id: search.root, value: null }, 1);
	return { stop: outputs.length >= params.solutions ? 'solved' : 'exhausted' };
}

/** G(p, s, k): returns the thoughts after a state, whether sampled, proposed, or already in the tree. */
async function thoughts(search: Search, state: number, params: TreeOfThoughtsParams): Promise<number[]> {
	const there = openChildren(search, state);
	if (there.length > 0) return there;
	if (params.generate === 'sample') {
		return (await search.generate(state, { n: params.thoughts, unit: 'step' })).map(({ id }) => id);
	}
	const { prompt: problem } = search.problem;
	const steps = stepsOf(search, state);
	const form = answerForm(search.tags);
	const prompt = fillPrompt(params.proposePrompt, { problem, steps, form, k: params.thoughts });
	const [reply = ''] = await search.ask([user(prompt)]);
	const list = readList(reply);
	if (list === null) {
		search.note({ t: 'fault', id: state, part: 'policy', message: 'The policy returned no list of thoughts.' });
		return [];
	}
	return list.slice(0, params.thoughts).map((thought) => {
		const answer = finishingAnswer(thought, search.tags);
		return search.add({
			parents: [state],
			text: `${thought}\n`,
			...(answer === null ? {} : { final: true, answer, role: 'answer' as const }),
		}).id;
	});
}

/** V(p, S): returns a value for each state. */
async function valuesOf(
	search: Search,
	states: readonly number[],
	params: TreeOfThoughtsParams,
): Promise<(number | null)[]> {
	if (states.length === 0) return [];
	const { prompt: problem } = search.problem;
	const { samples } = params;
	if (params.evaluate === 'scorer') return valuesByScorer(search, states);
	if (params.evaluate === 'vote') {
		const choices = numbered(
			states.map((id) => stepsOf(search, id)),
			'Choice',
		);
		const messages = [user(fillPrompt(params.votePrompt, { problem, choices }))];
		return voteByPrompt(search, states, { scorer: scorerNames.vote, messages, votes: samples });
	}
	const messages = (id: number) => [user(fillPrompt(params.valuePrompt, { problem, steps: stepsOf(search, id) }))];
	return valueByPrompt(search, states, { scorer: scorerNames.value, messages, form: valueForm, samples });
}

async function completed(search: Search, state: number): Promise<number | undefined> {
	const [there] = openChildren(search, state);
	return there ?? (await search.generate(state, { unit: 'completion' }))[0]?.id;
}

function stepsOf(search: Search, state: number): string {
	return search.textOf(state).trim() || '(none)';
}

function isFinal(search: Search, id: number): boolean {
	return search.tree.node(id)?.final ?? false;
}
