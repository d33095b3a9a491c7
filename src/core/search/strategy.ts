import type * as v from 'valibot';
import type { StopReason } from '../../protocol/treeLog.ts';
import type { PolicyCapabilities } from './policy.ts';
import type { ScorerScope } from './scorer.ts';
import type { Search } from './search.ts';

/** What a search comes to; what is left out follows from the tree (best final node by value). */
export interface Conclusion {
	/** Node that is the result. */
	readonly best?: number | null;
	readonly answer?: string | null;
	readonly value?: number | null;
}

/** How a strategy ends that was not ended from outside. Without a `best`, `conclude` is asked. */
export interface StrategyEnd extends Conclusion {
	readonly stop: Extract<StopReason, 'complete' | 'solved' | 'exhausted' | 'no-improvement'>;
}

/** Of the thoughts of a search. */
export type TreeStructure = 'chain' | 'tree' | 'graph';

export interface StrategyNeeds {
	readonly scorer?: ScorerScope;
	readonly policy?: readonly (keyof PolicyCapabilities)[];
}

/** All that a strategy cannot do without when it is run with these parameters. */
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
 * A way to search, wired from the operators of `Search` so that it reads like its paper. It never knows which model is
 * behind the policy, takes randomness from `search.random` alone and keeps what it has to know in the tree, so that it can
 * go on with a tree that is read from a log.
 */
export interface Strategy<P> {
	/** As it is spelt in specifications: `best-of-n`, `beam`, `mcts`, ... */
	readonly name: string;
	readonly title: string;
	/** One sentence for people who choose. */
	readonly description: string;
	/** Paper and year. */
	readonly source: string;
	readonly structure: TreeStructure;
	/** Parameters by the field's names, with description, default and limits (protocol/recipeFields.ts). */
	readonly params: v.GenericSchema<unknown, P>;
	/** What it cannot do without, whatever its parameters. */
	readonly needs: StrategyNeeds;
	/** What it cannot do without besides, with these parameters. */
	needsWith?(params: P): StrategyNeeds;
	/** A budget that runs out, a person who stops and a policy that fails end it from within `search`, by a throw. */
	run(search: Search, params: P): Promise<StrategyEnd>;
	/**
	 * The result that the tree has as it stands, also when a budget ended the search: then it may still evaluate, but neither
	 * generate nor ask. Default: the best final node by the judge, else by the guide, else by majority of the answers.
	 */
	conclude?(search: Search, params: P): Conclusion | Promise<Conclusion>;
}
