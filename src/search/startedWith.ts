import type { SearchResume } from '../core/search/continueSearch.ts';
import { strategyOf } from '../core/search/strategies.ts';
import { type SearchBudget, type SearchProblem, type TreeEvent, treeLogFormat } from '../protocol/treeLog.ts';

/** Prepares a search that continues from a prefix written by a client, in the same way as one edited by a user. */
export function startedWith(
	problem: SearchProblem,
	text: string,
	{
		policy,
		strategy,
		seed,
		budget,
	}: { readonly policy: string; readonly strategy: string; readonly seed: number; readonly budget: SearchBudget },
): SearchResume & { readonly events: readonly TreeEvent[] } {
	const node = { t: 'node', at: 0, final: false, answer: null } as const;
	return {
		action: 'branch',
		node: 1,
		events: [
			{
				t: 'start',
				at: 0,
				format: treeLogFormat,
				id: '',
				strategy,
				params: {},
				policy: { name: policy },
				problem,
				scorers: [],
				budget,
				seed,
				backup: 'mean',
				structure: strategyOf(strategy).structure,
			},
			{ ...node, id: 0, parents: [], text: problem.prompt, role: 'problem', by: 'policy' },
			{ ...node, id: 1, parents: [0], text, role: 'thought', by: 'person' },
		],
	};
}
