/** What the rules see of one group of rollouts; arrays are parallel, one entry a rollout. */
export interface GroupFacts {
	readonly group: number;
	readonly index: readonly number[];
	readonly reward: readonly (number | null)[];
	readonly correct: readonly (boolean | null)[];
	readonly truncated: readonly boolean[];
	/** Whether an answer could be read out of the completion; null: the run's template has no answer tags. */
	readonly answered: readonly (boolean | null)[];
	/** Share of repeated n-grams, 0 to 1. */
	readonly repetition: readonly number[];
	/** Whether two completions of the group are the same text. */
	readonly identical: boolean;
}

/** Rollouts of one step, reduced to what the rules of src/core/diagnosis need. */
export interface StepFacts {
	readonly step: number;
	readonly groups: readonly GroupFacts[];
}
