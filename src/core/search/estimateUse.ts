import type { SearchBudget } from '../../protocol/treeLog.ts';

/** Length of a policy's completions. */
export interface CompletionSize {
	/** Mean number of tokens. */
	readonly tokens: number;
	/** Steps per completion, at least 1. */
	readonly steps: number;
}

export interface ExpectedUse {
	/** Tokens that the policy generates. */
	readonly tokens: number;
	/** Whether the token budget ends the search earlier. */
	readonly limited: boolean;
}

/**
 * Estimates how many tokens a search generates if completions have their usual length, without a budget. Returns null
 * for strategies whose requests depend on the replies.
 * @param params complete parameters of the strategy, as returned by `strategyParams`
 */
function generatedTokens(strategy: string, params: unknown, { tokens, steps }: CompletionSize): number | null {
	const p = params as Readonly<Record<string, number>> & { readonly evaluation?: unknown };
	const of = (name: string) => p[name] ?? 1;
	switch (strategy) {
		case 'best-of-n':
		case 'self-consistency':
			return of('n') * tokens;
		case 'beam':
		case 'dvts':
			// At each step, every beam samples its expansions and looks ahead from each of them.
			return of('width') * of('expansions') * tokens * (1 + of('lookahead'));
		case 'mcts': {
			// A leaf is expanded on its second visit. Unless a guide scores it, the rest is completed: half of the tokens on
			// average.
			const rollouts = p.evaluation === 'value' ? 0 : of('rollouts') * (tokens / 2);
			return of('simulations') * ((of('expansions') * tokens) / (2 * steps) + rollouts);
		}
		case 'step-completion':
			// From each step, complete the rest, which is half of the tokens on average.
			return of('solutions') * (tokens + Math.min(steps, of('steps')) * of('completions') * (tokens / 2));
		case 'self-refine':
			return (1 + 2 * of('rounds')) * tokens;
		case 'sequential-revision':
			return of('chains') * (1 + of('revisions')) * tokens;
		default:
			return null;
	}
}

/** Estimates the usage of a search; null if unknown. */
export function estimateUse(
	strategy: string,
	params: unknown,
	size: CompletionSize,
	{ tokens: limit }: SearchBudget,
): ExpectedUse | null {
	const tokens = generatedTokens(strategy, params, size);
	if (tokens === null) return null;
	return limit !== undefined && limit < tokens ? { tokens: limit, limited: true } : { tokens, limited: false };
}
