import type { Problem, Question } from './problem.ts';

/**
 * Where a run's problems come from: a task generator or the rows of a file. Stateless: the n-th training problem of a
 * seed is always the same, so a dataset cursor is one integer.
 */
export interface ProblemSource {
	readonly name: string;
	/** Characters that the vocabulary needs. */
	readonly symbols: readonly string[];
	/** Upper bounds in characters, over training and held-out problems. */
	readonly maxPromptLength: number;
	readonly maxSolutionLength: number;
	readonly maxAnswerLength: number;
	/** Whether training problems carry worked solutions (a cold start needs them). */
	readonly hasSolutions: boolean;
	/** The index-th training problem under a seed. Rows come in epochs, each shuffled anew. */
	training(seed: number, index: number): Problem;
	/** Training problems of an epoch; absent: they never run out. */
	readonly trainingRows?: number;
	/** The first n of a fixed list that does not depend on any seed; fewer when the source has fewer. */
	heldOut(n: number): readonly Problem[];
	/** The index-th plain text under a seed, for pretraining; absent: the source has none. */
	text?(seed: number, index: number): string;
	/** null: accuracy does not apply (the gold answer is absent). */
	verify(question: Question, answer: string): boolean | null;
}
