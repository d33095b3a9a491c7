import type { Random } from '../../base/random.ts';
import type { TaskDataset } from '../../protocol/recipeKeys/recipe.ts';

/** A problem with its worked solution. All text is bare: no template, no tags. */
export interface Problem {
	readonly prompt: string;
	/**
	 * Gold answer, or null if unknown (for example, if a dataset row lacks it). Accuracy does not apply if the answer is
	 * null.
	 */
	readonly answer: string | null;
	/** Worked reasoning for the cold start, or null if there is none. */
	readonly solution: string | null;
	/**
	 * Answer at the end of the worked solution, which can be wrong in mixed-quality data for a base model. Absent if it
	 * is the gold answer.
	 */
	readonly stated?: string;
	/** Canonical form, identical for equal problems (`a+b` and `b+a`). The split is based on its hash. */
	readonly key: string;
	/** Public fields, as passed to rewards and written to rollout files. */
	readonly row: Readonly<Record<string, unknown>>;
}

/** Verifier input. */
export interface Question {
	readonly answer: string | null;
	readonly row: Readonly<Record<string, unknown>>;
}

/**
 * Problems that the policy poses. A prompt asks for a problem and may show part of it. The task computes the answer to
 * whatever problem the policy poses.
 */
export interface Proposals {
	/** Samples a prompt that asks for a problem. It has no answer, because many problems are acceptable. */
	ask(random: Random): Problem;
	/**
	 * Returns the problem posed in an answer to such a prompt, or null if it is not a valid problem for the task.
	 * @param answer without tags
	 */
	read(asked: Question, answer: string): Problem | null;
}

/** A seeded problem generator with a rule-based verifier. */
export interface Task {
	readonly name: TaskDataset['task'];
	/** All characters that occur in prompts, solutions, and answers. */
	readonly symbols: readonly string[];
	/** Upper bounds on lengths, in characters. */
	readonly maxPromptLength: number;
	readonly maxSolutionLength: number;
	readonly maxAnswerLength: number;
	/** Samples a problem from the entire problem space, both training and held-out. */
	sample(random: Random): Problem & { readonly answer: string; readonly solution: string };
	/** Generates plain text for pretraining: a sentence or two without a problem to solve. Absent if unsupported. */
	text?(random: Random): string;
	/** Absent if the policy cannot pose problems for this task. */
	readonly proposals?: Proposals;
	/** Returns whether the answer (without tags) is correct, ignoring surrounding whitespace. */
	verify(question: Question, answer: string): boolean;
}
export type TaskProblem = ReturnType<Task['sample']>;
