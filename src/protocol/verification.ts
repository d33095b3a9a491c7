import * as v from 'valibot';
import { lineCoverageSchema } from './rewardHost.ts';
import { scoreErrorKinds } from './scorer.ts';

const value = v.nullable(v.number());

/**
 * Origin of a row in a verification.
 * - `gold`: an honest completion with the dataset's answer; `wrong`: the same with a wrong answer derived from it
 * - `case`: a line of NAME.cases.jsonl; `rollout`: recorded in a run; `selection`: text selected in the editor
 */
export const rowSources = ['gold', 'wrong', 'case', 'rollout', 'selection'] as const;
export type RowSource = (typeof rowSources)[number];

/** Expected value of a labeled case: an exact value (within 1e-9), a range, or null. */
export const expectationSchema = v.nullable(
	v.union([v.number(), v.object({ min: v.optional(v.number()), max: v.optional(v.number()) })]),
);
export type Expectation = v.InferOutput<typeof expectationSchema>;

export const rowErrorSchema = v.object({
	kind: v.picklist(scoreErrorKinds),
	message: v.string(),
	stack: v.optional(v.string()),
	line: v.optional(v.number()),
});

export const verifiedRowSchema = v.object({
	source: v.picklist(rowSources),
	/**
	 * Display label: "row 12, correct answer", "row 12, wrong answer (off by one)", "case 3", "step 40, group 2, completion
	 * 5".
	 */
	label: v.string(),
	/** Rows in a group have the same prompt; null if the row has no group. */
	group: v.nullable(v.number()),
	prompt: v.string(),
	completion: v.string(),
	answer: v.nullable(v.string()),
	/** null: not recorded. */
	truncated: v.nullable(v.boolean()),
	/** null with an `error` if scoring failed; null without one if the reward does not apply. */
	value,
	error: v.optional(rowErrorSchema),
	expect: v.optional(expectationSchema),
	/** Cases only: whether the value matches the expectation. */
	passed: v.optional(v.boolean()),
	/** Rollouts only: the value that the run recorded for the reward with this name. */
	recorded: v.optional(value),
	/** Values of the recipe's other rewards for the row. */
	others: v.record(v.string(), value),
	/** Source location of the row: absolute path and 1-based line. */
	place: v.optional(v.object({ file: v.string(), line: v.number() })),
	/** Rollouts only: identifies the rollout within its run. */
	rollout: v.optional(v.object({ step: v.number(), group: v.number(), index: v.number() })),
});
export type VerifiedRow = v.InferOutput<typeof verifiedRowSchema>;

export const verificationStatisticsSchema = v.object({
	rows: v.number(),
	/** Number of rows with a value. */
	valued: v.number(),
	/**
	 * Computed over rows with a value; null if there are none. The standard deviation is the sample standard deviation (n
	 * - 1), or 0 for a single row.
	 */
	mean: value,
	std: value,
	min: value,
	max: value,
	nulls: v.number(),
	errors: v.number(),
	/** Of the rows with a value, the fractions at the maximum and at the minimum; null if all values are equal. */
	ceiling: value,
	floor: value,
	/**
	 * Number of problems where the `gold` row and at least one `wrong` row have a value, and the number of those where
	 * the gold row scores strictly higher than every wrong row. null if there are no such problems.
	 */
	agreement: v.nullable(v.object({ problems: v.number(), agreed: v.number() })),
	/** Number of groups in which at least two rows have a value, and the number of those with all-equal values. */
	groups: v.number(),
	deadGroups: v.number(),
	/** Mean sample standard deviation within groups; null if there are no groups. */
	withinGroupStd: value,
	cases: v.object({ passed: v.number(), failed: v.number() }),
	/**
	 * Numbers of rollouts whose recorded value matches the new one or differs from it (including rollouts where only one
	 * of the two is null).
	 */
	recorded: v.object({ same: v.number(), different: v.number() }),
	/**
	 * Pearson correlation with every other reward over rows where both have values; null if either reward is constant or
	 * there are fewer than 3 such rows.
	 */
	correlation: v.record(v.string(), value),
});
export type VerificationStatistics = v.InferOutput<typeof verificationStatisticsSchema>;

/**
 * Results of a reward on all rows. The inline summary, the panel, the Test Explorer and the CLI all display this
 * object.
 */
export const verificationSchema = v.object({
	format: v.literal(1),
	file: v.string(),
	reward: v.string(),
	/** Descriptions of the row sources: "data/train.jsonl", "run addition-20261120-101010-ab12, step 40". */
	data: v.array(v.string()),
	/** Descriptions of anything unusable: "The recipe's dataset has no answers." */
	remarks: v.array(v.string()),
	rows: v.array(verifiedRowSchema),
	statistics: verificationStatisticsSchema,
	/** Errors that affect the batch as a whole. */
	faults: v.array(rowErrorSchema),
	coverage: v.nullable(lineCoverageSchema),
	logs: v.array(v.string()),
	/** Scoring time only. */
	durationMs: v.number(),
});
export type Verification = v.InferOutput<typeof verificationSchema>;
