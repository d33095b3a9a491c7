import type { SearchProblem } from '../../protocol/treeLog.ts';
import type { Generation, SearchTurn } from './policy.ts';

/** Chain of thought to be scored: all text from the problem to a node. */
export interface ScoreItem {
	readonly problem: SearchProblem;
	/** Completion up to the node. */
	readonly completion: string;
	/** Text of each node in the chain, in order. */
	readonly steps: readonly string[];
	/** Whether the completion is finished. */
	readonly final: boolean;
	/** Answer stated in the completion; null if there is none. */
	readonly answer: string | null;
	/** Generation that produced the last part; null if it was written by the user or imported. */
	readonly generation: Generation | null;
	/** Log-probability of the whole completion, in nats, and its token count; null if unknown. */
	readonly logprob: number | null;
	readonly tokens: number | null;
	/** The completion as turns of an episode, if the policy plays episodes. */
	readonly turns?: readonly SearchTurn[];
}

/** `step`: scores prefixes as well; `final`: scores only finished completions. */
export type ScorerScope = 'step' | 'final';

/** Scores thoughts; higher is better, and most scores are in 0..1. */
export interface Scorer {
	readonly name: string;
	/** Whether it scores prefixes or only finished completions. */
	readonly scope: ScorerScope;
	/** Whether it uses the gold answer. If so, selection by this scorer gives an upper bound rather than a result. */
	readonly oracle: boolean;
	/** Returns one entry per item; null if the scorer has no value for it. Rejects if the whole call failed. */
	score(items: readonly ScoreItem[]): Promise<readonly (number | null)[]>;
}
