import type * as v from 'valibot';
import type { StopReason } from '../../protocol/treeLog.ts';
import type { PolicyCapabilities } from './policy.ts';
import type { ScorerScope } from './scorer.ts';
import type { Search } from './search.ts';

/** Result of a search; omitted parts are derived from the tree (best final node by value). */
export interface Conclusion {
	/** The resulting node. */
	readonly best?: number | null;
	readonly answer?: string | null;
	readonly value?: number | null;
}

/** The end of a strategy that was not ended from outside. Without a `best`, `conclude` is called. */
export interface StrategyEnd extends Conclusion {
	readonly stop: Extract<StopReason, 'complete' | 'solved' | 'exhausted' | 'no-improvement'>;
}

/** Of the thoughts of a search. */
export type TreeStructure = 'chain' | 'tree' | 'graph';

export interface StrategyNeeds {
	readonly scorer?: ScorerScope;
	readonly policy?: readonly (keyof PolicyCapabilities)[];
}

/** Everything that a strategy requires with these parameters. */
export function needsOf<P>(strategy: Strategy<P>, params: P): StrategyNeeds {
	const { needs } = strategy;
	const more = strategy.needsWith?.(params) ?? {};
	const scorer = more.scorer ?? needs.scorer;
	return {
		policy: [...new Set([...(needs.policy ?? []), ...(more.policy ?? [])])],
		...(scorer === undefined ? {} : { scorer }),
	};
}

/**
 * A search strategy, composed of the operators of `Search` so that it reads like its paper. It does not know the model
 * behind the policy, takes randomness from `search.random` only, and keeps all of its state in the tree, so that it can
 * continue from a tree read from a log.
 */
export interface Strategy<P> {
	/** Name in specifications: `best-of-n`, `beam`, `mcts`, ... */
	readonly name: string;
	readonly title: string;
	/** One sentence for users who choose a strategy. */
	readonly description: string;
	/** Paper and year. */
	readonly source: string;
	readonly structure: TreeStructure;
	/** Parameters by the field's names, with description, default and limits (protocol/recipeFields.ts). */
	readonly params: v.GenericSchema<unknown, P>;
	/** Requirements regardless of parameters. */
	readonly needs: StrategyNeeds;
	/** Additional requirements with these parameters. */
	needsWith?(params: P): StrategyNeeds;
	/** An exhausted budget, a stop by the user or a failed policy ends it through an exception thrown by an operator. */
	run(search: Search, params: P): Promise<StrategyEnd>;
	/**
	 * Derives the result from the tree as it is, including after an exhausted budget, when it may still evaluate but
	 * neither generate nor ask. Default: the best final node by the judge, otherwise by the guide, otherwise by majority
	 * of the answers.
	 */
	conclude?(search: Search, params: P): Conclusion | Promise<Conclusion>;
}
