import * as v from 'valibot';
import { count, text } from '../../../protocol/recipeKeys/recipeFields.ts';
import { finalsOf } from '../choice.ts';
import { fillPrompt, numbered, user } from '../prompts/fillPrompt.ts';
import { decomposePrompt, finalPrompt, subproblemPrompt } from '../prompts/leastToMost.ts';
import { readList, withoutThinking } from '../prompts/readReply.ts';
import type { Search } from '../search.ts';
import type { Strategy } from '../strategy.ts';
import { openChildren } from './ranking.ts';

const paramsSchema = v.strictObject({
	subproblems: v.optional(count('Max number of subquestions', 1, 64), 6),
	decomposePrompt: v.optional(text('Subquestion prompt: {problem}, {k}'), decomposePrompt),
	subproblemPrompt: v.optional(
		text('Prompt for answering a subquestion: {problem}, {solved}, {question}'),
		subproblemPrompt,
	),
	finalPrompt: v.optional(text('Final prompt for the problem: {problem}, {solved}'), finalPrompt),
});
export type LeastToMostParams = v.InferOutput<typeof paramsSchema>;

export const leastToMost: Strategy<LeastToMostParams> = {
	name: 'least-to-most',
	title: 'Least-to-Most',
	description: 'Splits the problem into simpler subquestions and answers them in order, using the previous answers.',
	source: 'Zhou et al. 2023',
	structure: 'chain',
	params: paramsSchema,
	needs: { policy: ['instructions'] },
	async run(search, params) {
		const { prompt: problem } = search.problem;
		const plan = child(search, search.root) ?? (await decomposed(search, params));
		// Without a plan, solves the problem directly.
		const questions = plan === undefined ? [] : (readList(search.textOf(plan)) ?? []);
		let at = plan ?? search.root;
		const solved: string[] = [];
		for (const question of questions) {
			const subproblem = child(search, at) ?? search.add({ parents: [at], text: question, role: 'subproblem' }).id;
			const texts = { problem, question, solved: solved.join('\n\n') };
			const messages = [user(fillPrompt(params.subproblemPrompt, texts))];
			const solution =
				child(search, subproblem) ??
				(await search.generate(subproblem, { unit: 'completion', role: 'thought', fresh: true, messages }))[0]?.id;
			if (solution === undefined) {
				search.note({
					t: 'fault',
					id: subproblem,
					part: 'policy',
					message: 'The policy did not answer the question.',
				});
				at = subproblem;
				continue;
			}
			const answer = withoutThinking(search.textOf(solution)) || search.textOf(solution).trim();
			solved.push(`Question: ${question}\nAnswer: ${answer}`);
			search.select(solution);
			at = solution;
		}
		const messages = [user(fillPrompt(params.finalPrompt, { problem, solved: solved.join('\n\n') }).trim())];
		const options = { unit: 'completion', role: 'answer', fresh: true, messages } as const;
		const end = child(search, at) ?? (await search.generate(at, options))[0]?.id;
		return { stop: end === undefined ? 'exhausted' : 'complete' };
	},
	/** Ignores answers to subquestions, which do not answer the problem. */
	conclude: (search) => ({ best: finalsOf(search).findLast(({ role }) => role === 'answer')?.id ?? null }),
};

/** Adds the list of subquestions as the plan node; undefined if the policy lists no questions. */
async function decomposed(search: Search, params: LeastToMostParams): Promise<number | undefined> {
	const texts = { problem: search.problem.prompt, k: params.subproblems };
	const [reply = ''] = await search.ask([user(fillPrompt(params.decomposePrompt, texts))]);
	const list = readList(reply)?.slice(0, params.subproblems) ?? null;
	if (list !== null) {
		return search.add({ parents: [search.root], text: numbered(list), role: 'subproblem', label: 'Plan' }).id;
	}
	search.note({ t: 'fault', id: search.root, part: 'policy', message: 'The policy returned no subquestions.' });
	return undefined;
}

/** Returns an existing child if a search is continued. */
function child(search: Search, node: number): number | undefined {
	return openChildren(search, node)[0];
}
