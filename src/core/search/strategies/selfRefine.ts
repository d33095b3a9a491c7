import * as v from 'valibot';
import { choice, count, text } from '../../../protocol/recipeKeys/recipeFields.ts';
import { bestFinal, chooser, finalsOf, judgeFinals } from '../choice.ts';
import { assistant, fillPrompt, user } from '../prompts/fillPrompt.ts';
import { saysStop, withoutThinking } from '../prompts/readReply.ts';
import { feedbackPrompt, refinePrompt, stopPhrase } from '../prompts/selfRefine.ts';
import type { Search } from '../search.ts';
import type { Strategy } from '../strategy.ts';
import type { TreeNode } from '../treeNode.ts';
import { openChildren, valuesByScorer } from './ranking.ts';

const paramsSchema = v.strictObject({
	rounds: v.optional(count('Max number of feedback and refinement rounds', 1, 100), 4),
	stop: v.optional(
		choice(
			['feedback', 'same-answer', 'score', 'never'],
			'When to stop: if the feedback finds nothing to improve, if the answer does not change, if the score does not increase, or only after all rounds',
		),
		'feedback',
	),
	result: v.optional(choice(['last', 'best'], 'Return the last answer, or the one with the highest score'), 'last'),
	stopPhrase: v.optional(text('Phrase that the feedback contains when nothing is left to improve'), stopPhrase),
	feedbackPrompt: v.optional(text('Feedback prompt: {problem}, {answer}, {stop}'), feedbackPrompt),
	refinePrompt: v.optional(text('Refinement prompt: {feedback}'), refinePrompt),
});
export type SelfRefineParams = v.InferOutput<typeof paramsSchema>;

/** Algorithm 1 of the paper: y_0 = M(x); fb_t = M(x, y_t); y_t+1 = M(x, y_0, fb_0, ..., y_t, fb_t). */
export const selfRefine: Strategy<SelfRefineParams> = {
	name: 'self-refine',
	title: 'Self-Refine',
	description: 'Answers, critiques the answer, and improves it in several rounds.',
	source: 'Madaan et al. 2023',
	structure: 'chain',
	params: paramsSchema,
	needs: { policy: ['instructions'] },
	needsWith: ({ stop, result }) => (stop === 'score' || result === 'best' ? { scorer: 'final' } : {}),
	async run(search, params) {
		const { prompt: problem } = search.problem;
		const conversation = [user(problem)];
		let answer = next(search, search.root, ['draft']);
		answer ??= (await search.generate(search.root, { unit: 'completion', role: 'draft', fresh: true }))[0];
		if (answer === undefined) return { stop: 'exhausted' };
		let stopped = false;
		for (let round = 1; round <= params.rounds && !stopped; round++) {
			const feedback: TreeNode | undefined =
				next(search, answer.id, ['critique']) ?? (await criticized(search, answer, params));
			if (feedback === undefined) return { stop: 'exhausted' };
			if (params.stop === 'feedback' && saysStop(feedback.text, [params.stopPhrase])) return { stop: 'no-improvement' };
			conversation.push(assistant(answer.text));
			conversation.push(user(fillPrompt(params.refinePrompt, { feedback: feedback.text.trim() })));
			const messages = [...conversation];
			const refined: TreeNode | undefined =
				next(search, feedback.id, ['revision']) ??
				(await search.generate(feedback.id, { unit: 'completion', role: 'revision', fresh: true, messages }))[0];
			if (refined === undefined) return { stop: 'exhausted' };
			search.select(refined.id);
			stopped = await nothingNew(search, params, answer, refined);
			answer = refined;
		}
		return { stop: stopped ? 'no-improvement' : 'complete' };
	},
	async conclude(search, params) {
		if (params.result === 'best') return bestFinal(search, await judgeFinals(search));
		const last = finalsOf(search).at(-1);
		return { best: last?.id ?? null };
	},
};

/** Adds fb_t, the policy's critique of an answer, as a node; undefined if it is empty. */
async function criticized(search: Search, { id, text }: TreeNode, params: SelfRefineParams) {
	const texts = { problem: search.problem.prompt, answer: text.trim(), stop: params.stopPhrase };
	const [reply = ''] = await search.ask([user(fillPrompt(params.feedbackPrompt, texts))]);
	const feedback = withoutThinking(reply);
	if (feedback !== '') return search.add({ parents: [id], text: feedback, role: 'critique' });
	search.note({ t: 'fault', id, part: 'policy', message: 'The policy gave no feedback.' });
	return undefined;
}

async function nothingNew(search: Search, { stop }: SelfRefineParams, before: TreeNode, after: TreeNode) {
	if (stop === 'same-answer') {
		return before.answer !== null && after.answer !== null && search.sameAnswer(before.answer, after.answer);
	}
	if (stop !== 'score') return false;
	const [was, is] = await valuesByScorer(search, [before.id, after.id], chooser(search));
	return (is ?? -Infinity) <= (was ?? -Infinity);
}

/** Returns an existing node if a search is continued. */
function next(search: Search, node: number, roles: readonly TreeNode['role'][]): TreeNode | undefined {
	return openChildren(search, node)
		.map((id) => search.tree.node(id))
		.find((child) => child !== undefined && roles.includes(child.role));
}
