import type { IDisposable } from '../../base/disposable.ts';
import type { Scorer } from '../../core/search/scorer.ts';
import type { OpenPolicy } from '../../policies/openedPolicy.ts';
import type { SearchSpec } from '../../protocol/searchSpec.ts';
import type { SearchContext } from '../searchContext.ts';

/** What a scorer is opened with. */
export interface ScorerContext {
	/** The policy of the search: it judges itself, tells probabilities, and may have heads. */
	readonly policy: OpenPolicy;
	/** How further policies and processes are opened. */
	readonly search: SearchContext;
	/** The search that it is for; its paths are absolute. */
	readonly spec: SearchSpec;
}

/** A scorer with all that it needs; any number of searches use it. Who opened it disposes of it. */
export interface OpenScorer extends IDisposable {
	readonly name: string;
	/** What it needs to know of each token: the search's `sampling.tokens` at least. Default 0. */
	readonly tokens?: number;
	/** What a person should know of its values, in sentences. */
	readonly notes?: readonly string[];
	/** One for each search; the signal cancels what is under way. */
	bind(options: { readonly signal: AbortSignal }): Scorer;
}
