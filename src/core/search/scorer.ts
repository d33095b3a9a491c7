import type { SearchProblem } from '../../protocol/treeLog.ts';
import type { Generation } from './policy.ts';

/** A chain of thought that is to be valued: all from the problem to a node. */
export interface ScoreItem {
	readonly problem: SearchProblem;
	/** The completion as far as it goes. */
	readonly completion: string;
	/** Its nodes' texts, in their order. */
	readonly steps: readonly string[];
	/** It has come to its end. */
	readonly final: boolean;
	/** The answer that it states; null: none. */
	readonly answer: string | null;
	/** How its last part was generated; null: a person wrote it, or another program did. */
	readonly generation: Generation | null;
	/** Log-probability of the whole completion, nats, and its tokens; null: not told. */
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
	/** One entry an item: null where it has no value for it. Rejects when it failed altogether. */
	score(items: readonly ScoreItem[]): Promise<readonly (number | null)[]>;
}
