import type { Problem, Question } from './problem.ts';

export interface PosedProblems {
	/** Returns a prompt that asks for a problem, given a seed and an index. It has no answer. */
	ask(seed: number, index: number): Problem;
	/**
	 * Returns the problem posed in an answer to such a prompt, or null if the answer is not a valid problem. Held-out
	 * problems must not be trained on.
	 * @param answer without tags
	 */
	read(asked: Question, answer: string): Problem | 'held-out' | null;
}

/**
 * Problem source for a run: a task generator or the rows of a file. It is stateless: the nth training problem for a seed
 * is always the same, so a dataset cursor is a single integer.
 */
export interface ProblemSource {
	readonly name: string;
	/** Characters that the vocabulary must contain. */
	readonly symbols: readonly string[];
	/** Upper bounds on lengths in characters, across training and held-out problems. */
	readonly maxPromptLength: number;
	readonly maxSolutionLength: number;
	readonly maxAnswerLength: number;
	/** Whether training problems have the worked solutions that a cold start needs. */
	readonly hasSolutions: boolean;
	/** Returns the training problem at the given index for the given seed. Rows are reshuffled every epoch. */
	training(seed: number, index: number): Problem;
	/** Row columns, if the problems come from a file. Absent for generators. */
	readonly columns?: readonly string[];
	/** Training problems per epoch. Absent if unlimited. */
	readonly trainingRows?: number;
	/** Returns the first n problems of a fixed list that is independent of the seed, or fewer if the source runs out. */
	heldOut(n: number): readonly Problem[];
	/** Returns the plain text at the given index for the given seed, for pretraining. Absent if unsupported. */
	text?(seed: number, index: number): string;
	/** Problems posed by the policy. Absent if unsupported. */
	readonly proposals?: PosedProblems;
	/** Returns whether the answer is correct, or null if accuracy does not apply because there is no gold answer. */
	verify(question: Question, answer: string): boolean | null;
}
