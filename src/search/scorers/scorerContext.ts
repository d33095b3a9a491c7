import type { IDisposable } from '../../base/disposable.ts';
import type { Scorer } from '../../core/search/scorer.ts';
import type { OpenPolicy } from '../../policies/openedPolicy.ts';
import type { SearchSpec } from '../../protocol/searchSpec.ts';
import type { SearchContext } from '../searchContext.ts';

/** Dependencies for opening a scorer. */
export interface ScorerContext {
	/** The search's policy. Some scorers use it as the judge, or use its probabilities or heads. */
	readonly policy: OpenPolicy;
	/** How to open other policies and processes. */
	readonly search: SearchContext;
	/** The search specification, with absolute paths. */
	readonly spec: SearchSpec;
}

/** An opened scorer, usable for any number of searches. The caller must dispose of it. */
export interface OpenScorer extends IDisposable {
	readonly name: string;
	/** Minimum value of the search's `sampling.tokens` that the scorer requires. Default: 0. */
	readonly tokens?: number;
	/** Notes for the user about the scorer's values, one sentence each. */
	readonly notes?: readonly string[];
	/** Creates a scorer for one search; the signal cancels pending work. */
	bind(options: { readonly signal: AbortSignal }): Scorer;
}
