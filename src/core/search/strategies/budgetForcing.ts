import * as v from 'valibot';
import { count, described, text } from '../../../protocol/recipeKeys/recipeFields.ts';
import type { Search } from '../search.ts';
import type { Strategy } from '../strategy.ts';
import type { TreeNode } from '../treeNode.ts';
import { maxThinking } from './limits.ts';
import { openChildren } from './ranking.ts';

const paramsSchema = v.strictObject({
	minTokens: v.optional(
		count('Min thinking tokens; attempts to stop thinking earlier are suppressed', 0, maxThinking),
		512,
	),
	maxTokens: v.optional(count('Max thinking tokens, after which the end of thinking is forced', 1, maxThinking), 2048),
	waits: v.optional(count('Max number of times to suppress the end of thinking', 0, 1000), 4),
	wait: v.optional(text('Text that replaces a suppressed end-of-thinking delimiter'), '\nWait'),
	endOfThinking: v.optional(text('Text that ends the thinking. Default: the closing think tag')),
	answer: v.optional(
		described(v.string(), 'Text inserted after a forced end-of-thinking delimiter, before the answer'),
		'',
	),
});
export type BudgetForcingParams = v.InferOutput<typeof paramsSchema>;

/**
 * Budget forcing (section 3.1 of the paper): suppresses attempts to stop thinking before the minimum budget, replacing
 * the delimiter with "Wait"; at the maximum budget, appends the delimiter to force an answer.
 */
export const budgetForcing: Strategy<BudgetForcingParams> = {
	name: 'budget-forcing',
	title: 'Budget Forcing',
	description: 'Extends the thinking with "Wait" if the policy stops early, and ends it at the limit.',
	source: 'Muennighoff et al. 2025 (s1)',
	structure: 'chain',
	params: paramsSchema,
	needs: { policy: ['prefix'] },
	async run(search, params) {
		const end = params.endOfThinking ?? search.tags.think?.[1] ?? '</think>';
		let at = search.root;
		let thought = 0;
		for (let waits = 0; thought < params.maxTokens; waits++) {
			const part = await next(search, at, () => thinking(search, at, end, params.maxTokens));
			if (part !== undefined) {
				at = part.id;
				thought += part.tokens ?? 0;
				// The completion contains no end-of-thinking delimiter to suppress.
				if (part.final) return { stop: 'complete' };
				// A truncated generation did not try to stop thinking, so it is continued as far as possible.
				if (part.finish === 'length' && (part.tokens ?? 0) > 0) continue;
			}
			if (thought >= params.minTokens || waits >= params.waits) break;
			const wait = await next(search, at, () => [
				search.add({ parents: [at], text: params.wait, role: 'thought', label: 'Wait' }),
			]);
			at = wait?.id ?? at;
		}
		const forced = thought >= params.maxTokens ? params.answer : '';
		const closing = { text: `${end}${forced}`, role: 'thought', label: 'End of thinking' } as const;
		const closed = await next(search, at, () => [search.add({ parents: [at], ...closing })]);
		const ended = closed?.id ?? at;
		// The completion limit applies only to the answer; the thinking has a separate one.
		const sampling = { maxTokens: params.maxTokens + search.sampling.maxTokens };
		const answer = await next(search, ended, () => search.generate(ended, { unit: 'completion', sampling }));
		return { stop: answer === undefined ? 'exhausted' : 'complete' };
	},
};

function thinking(search: Search, node: number, end: string, maxTokens: number) {
	return search.generate(node, { unit: 'completion', role: 'thought', stop: [end], sampling: { maxTokens } });
}

/** Returns the existing child if a search is continued, otherwise a new one. */
async function next(
	search: Search,
	node: number,
	make: () => readonly TreeNode[] | Promise<readonly TreeNode[]>,
): Promise<TreeNode | undefined> {
	const [there] = openChildren(search, node);
	return there === undefined ? (await make())[0] : search.tree.node(there);
}
