import * as v from 'valibot';
import { choice, count, text } from '../../../protocol/recipeKeys/recipeFields.ts';
import { finalsOf, judgeFinals, votedFinal } from '../choice.ts';
import { fillPrompt, numbered, user } from '../prompts/fillPrompt.ts';
import { revisionPrompt } from '../prompts/sequentialRevision.ts';
import type { Search } from '../search.ts';
import type { Strategy } from '../strategy.ts';
import { openChildren } from './ranking.ts';

const paramsSchema = v.strictObject({
	chains: v.optional(count('Number of parallel revision chains', 1, 256), 1),
	revisions: v.optional(count('Number of revisions per chain after the first attempt', 1, 256), 4),
	context: v.optional(count('Number of previous attempts shown for a revision', 1, 64), 4),
	stop: v.optional(
		choice(
			['never', 'same-answer'],
			'When to end a chain: only after all of its revisions, or when a revision repeats the answer',
		),
		'never',
	),
	result: v.optional(
		choice(
			['majority', 'scorer', 'last'],
			'Select the most frequent answer or the answer with the highest sum of scores across all attempts, or the last attempt',
		),
		'majority',
	),
	revisionPrompt: v.optional(text('Revision prompt: {problem}, {attempts}'), revisionPrompt),
});
export type SequentialRevisionParams = v.InferOutput<typeof paramsSchema>;

export const sequentialRevision: Strategy<SequentialRevisionParams> = {
	name: 'sequential-revision',
	title: 'Sequential Revision',
	description: 'Revises the solution based on previous attempts, and selects among all attempts.',
	source: 'Snell et al. 2024, section 6',
	structure: 'tree',
	params: paramsSchema,
	needs: { policy: ['instructions'] },
	needsWith: ({ result }) => (result === 'scorer' ? { scorer: 'final' } : {}),
	async run(search, params) {
		const there = openChildren(search, search.root).slice(0, params.chains);
		const missing = params.chains - there.length;
		const made =
			missing === 0
				? []
				: await search.generate(search.root, { n: missing, unit: 'completion', role: 'draft', fresh: true });
		const drafts = [...there, ...made.map(({ id }) => id)];
		const chains = await search.parallel(drafts, (draft) => revised(search, draft, params));
		return { stop: chains.flat().length === 0 ? 'exhausted' : 'complete' };
	},
	async conclude(search, { result }) {
		if (result === 'last') return { best: finalsOf(search).at(-1)?.id ?? null };
		const finals = result === 'scorer' ? await judgeFinals(search) : finalsOf(search);
		return votedFinal(search, finals, result === 'scorer');
	},
};

/** Generates a chain in which each attempt sees the attempts before it, up to a limit. */
async function revised(search: Search, draft: number, params: SequentialRevisionParams): Promise<number[]> {
	const chain = [draft];
	for (let i = 0; i < params.revisions; i++) {
		const last = chain.at(-1) as number;
		const shown = chain.slice(-params.context).map((id) => search.textOf(id));
		const attempts = numbered(shown, 'Attempt');
		const messages = [user(fillPrompt(params.revisionPrompt, { problem: search.problem.prompt, attempts }))];
		const [there] = openChildren(search, last);
		const options = { unit: 'completion', role: 'revision', fresh: true, messages } as const;
		const revision = there ?? (await search.generate(last, options))[0]?.id;
		if (revision === undefined) break;
		chain.push(revision);
		search.select(revision);
		const [before, after] = [last, revision].map((id) => search.tree.node(id)?.answer ?? null);
		const same = before !== null && after !== null && search.sameAnswer(before as string, after as string);
		if (params.stop === 'same-answer' && same) break;
	}
	return chain;
}
