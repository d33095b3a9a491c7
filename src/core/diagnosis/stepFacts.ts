/** Facts about a rollout group that rules use. Arrays are parallel, with one entry per rollout. */
export interface GroupFacts {
	readonly group: number;
	readonly index: readonly number[];
	readonly reward: readonly (number | null)[];
	/** null if no reward measures correctness. */
	readonly correct: readonly (boolean | null)[];
	/** null if not recorded. */
	readonly truncated: readonly (boolean | null)[];
	/** Whether an answer could be parsed from the completion, or null if the answer format is unknown. */
	readonly answered: readonly (boolean | null)[];
	/** Fraction of repeated n-grams, 0 to 1; 0 for completions too short to repeat, null if the text was not recorded. */
	readonly repetition: readonly (number | null)[];
	/** Number of distinct completions, or null if the text of some was not recorded. */
	readonly distinct: number | null;
	/** Prompt as it appears in the dataset. Absent for other trainers, generated problems, and very long prompts. */
	readonly prompt?: string;
	/** Parsed answers in lowercase; null if a completion has none. Absent if the answer format is unknown. */
	readonly answers?: readonly (string | null)[];
	/** Majority language or script of a completion that mixes languages; null for completions that do not. */
	readonly mixed?: readonly (string | null)[];
	/** For each reward, the pairs of identical completions and how many of them it scored differently. */
	readonly repeats?: Readonly<Record<string, { readonly pairs: number; readonly differ: number }>>;
}

/** Rollouts from one step, reduced to what diagnosis rules need. */
export interface StepFacts {
	readonly step: number;
	readonly groups: readonly GroupFacts[];
}

/** Returns whether all completions have the same reward, so that none has an advantage. */
export const isDead = ({ reward }: GroupFacts): boolean =>
	reward.length > 1 && reward[0] !== null && reward.every((value) => value === reward[0]);

/** Returns whether every completion was judged correct. */
export const isAllRight = ({ correct }: GroupFacts): boolean =>
	correct.length > 0 && correct.every((value) => value === true);
