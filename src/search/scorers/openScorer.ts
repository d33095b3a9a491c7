import type { IDisposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import type { Scorer } from '../../core/search/scorer.ts';
import type { OpenPolicy } from '../../policies/openedPolicy.ts';
import type { ScorerSpec, SearchSpec } from '../../protocol/searchSpec.ts';
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
	/** The signal cancels what is under way. */
	bind(options: { readonly signal: AbortSignal }): Scorer;
}

/** Fails with `invalid`, `unsupported` where the policy cannot do what it needs, `missing`, `cancelled`. */
export async function openScorer(
	spec: ScorerSpec,
	_context: ScorerContext,
	_signal?: AbortSignal,
): Promise<OpenScorer> {
	throw new Failure('unsupported', `The scorer ${spec.use} cannot be used yet.`);
}
