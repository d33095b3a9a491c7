import { type ExpectedUse, estimateUse } from '../../src/core/search/estimateUse.ts';
import type { PolicyFacts, SearchDraft } from '../../src/protocol/newSearchMessages.ts';

export interface UseRequest {
	readonly strategy: string;
	/** All parameters of the strategy, and whether the user entered the number of simulations. */
	readonly params: Readonly<Record<string, unknown>>;
	readonly entered: boolean;
	readonly split: NonNullable<SearchDraft['split']>;
	readonly budget: NonNullable<SearchDraft['budget']>;
	/** Recorded completions from the policy. */
	readonly sample: PolicyFacts['sample'];
}

/** Returns the expected usage of a search; null if unknown. */
export function expectedUse({ strategy, params, entered, split, budget, sample }: UseRequest): ExpectedUse | null {
	if (sample === null || sample.tokens === null) return null;
	const size = typeof split === 'string' ? /^tokens-(\d+)$/.exec(split)?.[1] : undefined;
	const steps = size === undefined ? (sample.split?.steps ?? 1) : sample.tokens / Number(size);
	const completion = { tokens: sample.tokens, steps: split === 'completion' ? 1 : Math.max(1, steps) };
	const { simulations } = budget;
	// Unless the user has entered a number of simulations, the search uses the number in the budget.
	const own = simulations !== undefined && 'simulations' in params && !entered ? { simulations } : {};
	return estimateUse(strategy, { ...params, ...own }, completion, budget);
}
