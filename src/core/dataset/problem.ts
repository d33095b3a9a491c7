import type { Random } from '../../base/random.ts';
import type { TaskDataset } from '../../protocol/recipe.ts';

/** One problem with its worked solution. Texts are bare: no template, no tags. */
export interface Problem {
	readonly prompt: string;
	/** The gold answer; null: unknown (a dataset row may lack it), and then accuracy does not apply. */
	readonly answer: string | null;
	/** The worked thinking for the cold start; null: none. */
	readonly solution: string | null;
	/** Canonical form: problems that are the same problem share it (`a+b` and `b+a`). The split hashes it. */
	readonly key: string;
	/** Public fields, as rewards and rollout files see them. */
	readonly row: Readonly<Record<string, unknown>>;
}

/** What a verifier may look at. */
export interface Question {
	readonly answer: string | null;
	readonly row: Readonly<Record<string, unknown>>;
}

/** A seeded generator of problems with a rule verifier. */
export interface Task {
	readonly name: TaskDataset['task'];
	/** Every character that prompts, solutions and answers use. */
	readonly symbols: readonly string[];
	/** Upper bounds in characters. */
	readonly maxPromptLength: number;
	readonly maxSolutionLength: number;
	readonly maxAnswerLength: number;
	/** A problem from the whole space, training and held-out alike. */
	sample(random: Random): Required<Problem> & { readonly answer: string; readonly solution: string };
	/** Plain text for pretraining: a sentence or two that ask for nothing. Absent: the task knows none. */
	text?(random: Random): string;
	/** Whether the answer (without tags) is right; surrounding white space does not matter. */
	verify(question: Question, answer: string): boolean;
}
export type TaskProblem = ReturnType<Task['sample']>;
