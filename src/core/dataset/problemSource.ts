import type { Problem, Question } from './problem.ts';

/**
 * The source of a run's problems: a task generator or the rows of a file. Stateless: the n-th training problem for a
 * seed is always the same, so a dataset cursor is one integer.
 */
export interface ProblemSource {
	readonly name: string;
	/** Characters needed in the vocabulary. */
	readonly symbols: readonly string[];
	/** Upper bounds in characters, over training and held-out problems. */
	readonly maxPromptLength: number;
	readonly maxSolutionLength: number;
	readonly maxAnswerLength: number;
	/** Whether training problems have worked solutions, as needed for a cold start. */
	readonly hasSolutions: boolean;
	/** The index-th training problem for a seed. Rows come in epochs, each shuffled anew. */
	training(seed: number, index: number): Problem;
	/** Training problems per epoch; absent: unlimited. */
	readonly trainingRows?: number;
	/** The first n of a fixed list that does not depend on the seed; fewer if the source has fewer. */
	heldOut(n: number): readonly Problem[];
	/** The index-th plain text for a seed, for pretraining; absent: not supported. */
	text?(seed: number, index: number): string;
	/** null if accuracy does not apply (no gold answer). */
	verify(question: Question, answer: string): boolean | null;
}
