/** Facts about one group of rollouts that rules use. Arrays are parallel, one entry per rollout. */
export interface GroupFacts {
	readonly group: number;
	readonly index: readonly number[];
	readonly reward: readonly (number | null)[];
	/** null if no reward judges correctness. */
	readonly correct: readonly (boolean | null)[];
	/** null if not recorded. */
	readonly truncated: readonly (boolean | null)[];
	/** Whether an answer could be parsed from the completion; null if it is unknown how answers are marked. */
	readonly answered: readonly (boolean | null)[];
	/** Share of repeated n-grams, 0 to 1; 0 for completions too short to repeat; null if the text was not recorded. */
	readonly repetition: readonly (number | null)[];
	/** Number of distinct completions; null if some texts were not recorded. */
	readonly distinct: number | null;
	/** The prompt as in the dataset; absent for other trainers, generated problems, and very long prompts. */
	readonly prompt?: string;
	/** Parsed answers in lower case; null: none; absent: unknown how answers are marked. */
	readonly answers?: readonly (string | null)[];
	/** Majority language or script of a completion that mixes languages; null if it does not. */
	readonly mixed?: readonly (string | null)[];
	/** Per reward: pairs of identical completions, and how many of them it scored differently. */
	readonly repeats?: Readonly<Record<string, { readonly pairs: number; readonly differ: number }>>;
}

/** Rollouts of one step, reduced to what diagnosis rules need. */
export interface StepFacts {
	readonly step: number;
	readonly groups: readonly GroupFacts[];
}

/** Whether all completions have the same reward, so that none has an advantage. */
export const isDead = ({ reward }: GroupFacts): boolean =>
	reward.length > 1 && reward[0] !== null && reward.every((value) => value === reward[0]);

/** Whether every completion was judged correct. */
export const isAllRight = ({ correct }: GroupFacts): boolean =>
	correct.length > 0 && correct.every((value) => value === true);
