import type * as v from 'valibot';
import type { StopReason } from '../../protocol/treeLog.ts';
import type { PolicyCapabilities } from './policy.ts';
import type { ScorerScope } from './scorer.ts';
import type { Search } from './search.ts';

/** Search result. Omitted parts are derived from the tree (best final node by value). */
export interface Conclusion {
	/** Node that contains the result. */
	readonly best?: number | null;
	readonly answer?: string | null;
	readonly value?: number | null;
}

/** Result of a strategy that ended on its own. If `best` is omitted, `conclude` is called. */
export interface StrategyEnd extends Conclusion {
	readonly stop: Extract<StopReason, 'complete' | 'solved' | 'exhausted' | 'no-improvement'>;
}

/** Structure of the thoughts in a search. */
export type TreeStructure = 'chain' | 'tree' | 'graph';

export interface StrategyNeeds {
	readonly scorer?: ScorerScope;
	readonly policy?: readonly (keyof PolicyCapabilities)[];
}

/** Returns all requirements of a strategy with the given parameters. */
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
 * Search strategy, built from the operators in `Search` so that its code follows its paper. It does not know the model
 * behind the policy, uses no randomness other than `search.random`, and stores all of its state in the tree, so it can
 * continue from a tree read from a log.
 */
export interface Strategy<P> {
	/** Name used in specifications, such as `best-of-n`, `beam` or `mcts`. */
	readonly name: string;
	readonly title: string;
	/** One-sentence description shown when choosing a strategy. */
	readonly description: string;
	/** Paper and year. */
	readonly source: string;
	readonly structure: TreeStructure;
	/** Parameters by field name, with description, default and limits (protocol/recipeFields.ts). */
	readonly params: v.GenericSchema<unknown, P>;
	/** Requirements that do not depend on the parameters. */
	readonly needs: StrategyNeeds;
	/** Returns additional requirements for these parameters. */
	needsWith?(params: P): StrategyNeeds;
	/**
	 * Runs the strategy. An exhausted budget, a user stop or a policy failure ends it with an exception from an operator.
	 */
	run(search: Search, params: P): Promise<StrategyEnd>;
	/**
	 * Derives the result from the current tree. Also called after the budget is exhausted, in which case the strategy can
	 * evaluate, but not generate or ask. Default: the best final node according to the judge, otherwise the guide,
	 * otherwise by majority vote over answers.
	 */
	conclude?(search: Search, params: P): Conclusion | Promise<Conclusion>;
}
