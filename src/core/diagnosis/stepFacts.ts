/** What the rules see of one group of rollouts; arrays are parallel, one entry a rollout. */
export interface GroupFacts {
	readonly group: number;
	readonly index: readonly number[];
	readonly reward: readonly (number | null)[];
	/** null: no reward judges the answer. */
	readonly correct: readonly (boolean | null)[];
	/** null: not recorded. */
	readonly truncated: readonly (boolean | null)[];
	/** Whether an answer could be read out of the completion; null: nothing says how answers are marked. */
	readonly answered: readonly (boolean | null)[];
	/** Share of repeated n-grams, 0 to 1; 0 for completions too short to repeat; null: the text was not recorded. */
	readonly repetition: readonly (number | null)[];
	/** How many different completions there are; null: not all of their texts were recorded. */
	readonly distinct: number | null;
	/** The prompt as the dataset has it; absent: another trainer's, a generator's, or too long to be kept. */
	readonly prompt?: string;
	/** Answers that could be read, in lower case; null: none; absent: nothing says how answers are marked. */
	readonly answers?: readonly (string | null)[];
	/** Language or script of most of a completion whose words are partly of another; null: it keeps to one. */
	readonly mixed?: readonly (string | null)[];
	/** Of each reward: pairs of equal completions, and how many of them it scored differently. */
	readonly repeats?: Readonly<Record<string, { readonly pairs: number; readonly differ: number }>>;
}

/** Rollouts of one step, reduced to what the rules of src/core/diagnosis need. */
export interface StepFacts {
	readonly step: number;
	readonly groups: readonly GroupFacts[];
}

/** Whether all completions earned the same, so that none of them has an advantage. */
export const isDead = ({ reward }: GroupFacts): boolean =>
	reward.length > 1 && reward[0] !== null && reward.every((value) => value === reward[0]);

/** Whether every completion was judged right. */
export const isAllRight = ({ correct }: GroupFacts): boolean =>
	correct.length > 0 && correct.every((value) => value === true);
