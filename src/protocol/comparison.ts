import * as v from 'valibot';

const value = v.nullable(v.number());

export const comparedRowSchema = v.object({
	/** null if the trainer records no steps. */
	step: value,
	group: v.number(),
	/** Index of the completion in its group. */
	index: v.number(),
	prompt: v.string(),
	completion: v.string(),
	answer: v.nullable(v.string()),
	/** null if not recorded. */
	truncated: v.nullable(v.boolean()),
	before: value,
	after: value,
	/** Advantages computed with the recipe's `scale_rewards`. */
	advantageBefore: v.number(),
	advantageAfter: v.number(),
	/** Error messages from either side. */
	error: v.optional(v.string()),
});
export type ComparedRow = v.InferOutput<typeof comparedRowSchema>;

export const comparedGroupSchema = v.object({
	step: value,
	group: v.number(),
	stdBefore: v.number(),
	stdAfter: v.number(),
	/** `gained`: dead before, alive after; `lost`: alive before, dead after. */
	variance: v.picklist(['gained', 'lost', 'alive', 'dead']),
	/**
	 * Spearman rank correlation between before and after within the group (mean ranks for ties); null if one side is
	 * constant.
	 */
	rankCorrelation: value,
});
export type ComparedGroup = v.InferOutput<typeof comparedGroupSchema>;

/** Comparison of two rewards (or two sets of weights) on the same recorded rollouts. */
export const comparisonSchema = v.object({
	format: v.literal(1),
	/** Display name: "HEAD", "working copy", "rewards/a.reward.py", "weights 1, 0.2". */
	before: v.string(),
	after: v.string(),
	/** Folder of the run whose rollouts were scored. */
	run: v.string(),
	/** Ascending; empty if the trainer records no steps. */
	steps: v.array(v.number()),
	rows: v.array(comparedRowSchema),
	groups: v.array(comparedGroupSchema),
	summary: v.object({
		meanBefore: value,
		meanAfter: value,
		/**
		 * Number of rows whose value crosses the midpoint between the minimum and maximum of both sides, or changes to or
		 * from null.
		 */
		flipped: v.number(),
		changed: v.number(),
		/** Mean over the groups in which the correlation is defined. */
		rankCorrelation: value,
		gained: v.number(),
		lost: v.number(),
		/** Number of rows whose advantage changes sign. */
		advantageFlips: v.number(),
	}),
	remarks: v.array(v.string()),
});
export type Comparison = v.InferOutput<typeof comparisonSchema>;
