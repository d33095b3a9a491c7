import * as v from 'valibot';

const value = v.nullable(v.number());

export const comparedRowSchema = v.object({
	step: v.number(),
	group: v.number(),
	/** Of the completion within its group. */
	index: v.number(),
	prompt: v.string(),
	completion: v.string(),
	answer: v.nullable(v.string()),
	/** null: not recorded. */
	truncated: v.nullable(v.boolean()),
	before: value,
	after: value,
	/** With the recipe's `scale_rewards`. */
	advantageBefore: v.number(),
	advantageAfter: v.number(),
	/** Errors of either side, in words. */
	error: v.optional(v.string()),
});
export type ComparedRow = v.InferOutput<typeof comparedRowSchema>;

export const comparedGroupSchema = v.object({
	step: v.number(),
	group: v.number(),
	stdBefore: v.number(),
	stdAfter: v.number(),
	/** `gained`: dead before, alive after; `lost`: the reverse. */
	variance: v.picklist(['gained', 'lost', 'alive', 'dead']),
	/** Spearman's rank correlation of before and after within the group (mean ranks for ties); null: a side is constant. */
	rankCorrelation: value,
});
export type ComparedGroup = v.InferOutput<typeof comparedGroupSchema>;

/** Two rewards (or two weightings) on the same recorded rollouts. */
export const comparisonSchema = v.object({
	format: v.literal(1),
	/** In words: "HEAD", "working copy", "rewards/a.reward.py", "weights 1, 0.2". */
	before: v.string(),
	after: v.string(),
	/** Folder of the run whose rollouts were scored. */
	run: v.string(),
	steps: v.array(v.number()),
	rows: v.array(comparedRowSchema),
	groups: v.array(comparedGroupSchema),
	summary: v.object({
		meanBefore: value,
		meanAfter: value,
		/** Rows whose value crosses the middle between the smallest and the largest value of both sides, or turns to or from null. */
		flipped: v.number(),
		changed: v.number(),
		/** Mean over groups where it is defined. */
		rankCorrelation: value,
		gained: v.number(),
		lost: v.number(),
		/** Rows whose advantage changes its sign. */
		advantageFlips: v.number(),
	}),
	remarks: v.array(v.string()),
});
export type Comparison = v.InferOutput<typeof comparisonSchema>;
