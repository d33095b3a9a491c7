import type { SearchProblem } from '../../protocol/treeLog.ts';
import type { Generation } from './policy.ts';

/** A chain of thought to be scored: everything from the problem to a node. */
export interface ScoreItem {
	readonly problem: SearchProblem;
	/** The completion up to that node. */
	readonly completion: string;
	/** Texts of its nodes, in order. */
	readonly steps: readonly string[];
	/** Whether it is finished. */
	readonly final: boolean;
	/** The answer it states; null if there is none. */
	readonly answer: string | null;
	/** How its last part was generated; null if it was written by the user or by another program. */
	readonly generation: Generation | null;
	/** Log-probability of the whole completion, nats, and its number of tokens; null: unknown. */
	readonly logprob: number | null;
	readonly tokens: number | null;
}

/** `step`: values beginnings, too; `final`: only what has come to its end. */
export type ScorerScope = 'step' | 'final';

/** Gives values to thoughts, the higher the better; most lie in 0..1. */
export interface Scorer {
	readonly name: string;
	/** Whether it values beginnings, or only what has come to its end. */
	readonly scope: ScorerScope;
	/** It looks at the gold answer: what is chosen by it is an upper bound and no result. */
	readonly oracle: boolean;
	/** Returns one entry per item: null if it has no value for the item. Rejects if it failed altogether. */
	score(items: readonly ScoreItem[]): Promise<readonly (number | null)[]>;
}
