import type { Random } from '../../base/random.ts';
import type { TaskDataset } from '../../protocol/recipe.ts';

/** A problem with its worked solution. Texts are bare: no template, no tags. */
export interface Problem {
	readonly prompt: string;
	/** The gold answer; null if unknown (a dataset row may lack it), in which case accuracy does not apply. */
	readonly answer: string | null;
	/** Worked reasoning for the cold start; null if there is none. */
	readonly solution: string | null;
	/** Canonical form shared by equal problems (`a+b` and `b+a`). The split hashes it. */
	readonly key: string;
	/** Public fields, as passed to rewards and written to rollout files. */
	readonly row: Readonly<Record<string, unknown>>;
}

/** Input of a verifier. */
export interface Question {
	readonly answer: string | null;
	readonly row: Readonly<Record<string, unknown>>;
}

/** A seeded problem generator with a rule-based verifier. */
export interface Task {
	readonly name: TaskDataset['task'];
	/** All characters in prompts, solutions and answers. */
	readonly symbols: readonly string[];
	/** Upper bounds in characters. */
	readonly maxPromptLength: number;
	readonly maxSolutionLength: number;
	readonly maxAnswerLength: number;
	/** Samples a problem from the whole space, training and held-out. */
	sample(random: Random): Required<Problem> & { readonly answer: string; readonly solution: string };
	/** Plain text for pretraining: a sentence or two that pose no problem. Absent: not supported. */
	text?(random: Random): string;
	/** Whether the answer (without tags) is correct; surrounding whitespace is ignored. */
	verify(question: Question, answer: string): boolean;
}
export type TaskProblem = ReturnType<Task['sample']>;
