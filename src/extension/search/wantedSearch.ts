import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { strategyOf, strategyParams } from '../../core/search/strategies.ts';
import { needsOf } from '../../core/search/strategy.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import { type SearchDraft, searchDraftSchema } from '../../protocol/newSearchMessages.ts';
import { type SearchSpec, searchSpecSchema } from '../../protocol/searchSpec.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';

/** Argument for running the command programmatically: a partial search description and output options. */
export const presetSchema = v.object({
	...searchDraftSchema.entries,
	/** Log path. The file must not exist. */
	log: v.optional(v.string()),
	/** Whether to open the search tree. Default: true. */
	open: v.optional(v.boolean()),
});

export interface WantedSearch {
	readonly spec: SearchSpec;
	readonly problem: SearchProblem;
}

/** Returns whether a draft sets everything that has no default, so the search can start without asking the user. */
export function isComplete({ problem, policy, strategy, params, budget, guide, environment }: SearchDraft): boolean {
	if (problem === undefined || policy === undefined || strategy === undefined || budget === undefined) return false;
	const chosen = strategyOf(strategy);
	// An environment provides rewards, so no scorer is needed.
	return guide !== undefined || !!environment || needsOf(chosen, strategyParams(chosen, params)).scorer === undefined;
}

/**
 * Returns the search that a draft describes. Fails with `invalid` and the first problem. @param final whether to use
 * the parameters as they are. In the form, an explicit number of simulations overrides the strategy's default
 */
export function wantedSearch({ problem, environment, ...draft }: SearchDraft, final = false): WantedSearch {
	if (environment && problem === undefined) {
		throw new Failure('invalid', 'The search does not specify a row.', 'Select a row of the environment.');
	}
	if (problem === undefined || (!environment && problem.prompt.trim() === '')) {
		throw new Failure('invalid', 'The search does not specify a problem.', 'Enter a problem.');
	}
	if (draft.policy === undefined)
		throw new Failure('invalid', 'The search does not specify a policy.', 'Select a policy.');
	const strategy = strategyOf(draft.strategy ?? '');
	const whole = strategyParams(strategy, draft.params) as object;
	const { simulations } = draft.budget ?? {};
	const params =
		!final && simulations !== undefined && Object.hasOwn(whole, 'simulations')
			? { simulations, ...draft.params }
			: (draft.params ?? {});
	const played = environment ? { environment, guide: draft.guide ?? { use: 'environment' } } : {};
	return { spec: decodeOrThrow(searchSpecSchema, { ...draft, params, ...played }, 'The search'), problem };
}
