/** Facts about an episode. */
export interface EpisodeFacts {
	/** Number of tool calls and of failed tool calls. */
	readonly calls: number;
	readonly failures: number;
	/** Limit that ended the episode; null if there is none or it is not recorded. */
	readonly cut: 'length' | 'turns' | null;
}

/** Facts about a rollout group that rules use. Arrays are parallel, with one entry per rollout. */
export interface GroupFacts {
	readonly group: number;
	readonly index: readonly number[];
	readonly reward: readonly (number | null)[];
	/** Whether each completion is correct, or null if no reward measures correctness. */
	readonly correct: readonly (boolean | null)[];
	/** Whether each completion was truncated, or null if not recorded. */
	readonly truncated: readonly (boolean | null)[];
	/** Whether an answer could be parsed from the completion, or null if the answer format is unknown. */
	readonly answered: readonly (boolean | null)[];
	/**
	 * Fraction of repeated n-grams, from 0 to 1. The value is 0 for completions too short to repeat and null if the text
	 * was not recorded.
	 */
	readonly repetition: readonly (number | null)[];
	/** Number of distinct completions, or null if the text of some completions was not recorded. */
	readonly distinct: number | null;
	/** Prompt as it appears in the dataset. Absent for other trainers, generated problems, and very long prompts. */
	readonly prompt?: string;
	/** Parsed answers in lowercase, or null for completions without one. Absent if the answer format is unknown. */
	readonly answers?: readonly (string | null)[];
	/** Majority language or script of a completion that mixes languages, or null for any other completion. */
	readonly mixed?: readonly (string | null)[];
	/** Absent if no rollout in the group is an episode. */
	readonly episodes?: readonly EpisodeFacts[];
	/**
	 * For each reward, the number of pairs of identical completions and the number of those that it scored differently.
	 */
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
