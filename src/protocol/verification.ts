import * as v from 'valibot';
import { lineCoverageSchema } from './rewardHost.ts';
import { scoreErrorKinds } from './scorer.ts';

const value = v.nullable(v.number());

/**
 * Where a row of a verification comes from.
 * - `gold`: an honest completion with the dataset's answer; `wrong`: the same with a wrong answer that was made from it
 * - `case`: a line of NAME.cases.jsonl; `rollout`: recorded by a run; `selection`: text that was selected in the editor
 */
export const rowSources = ['gold', 'wrong', 'case', 'rollout', 'selection'] as const;
export type RowSource = (typeof rowSources)[number];

/** What a labeled case expects: an exact value (within 1e-9), a range, or null. */
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
	/** For people: "row 12, right answer", "row 12, wrong answer (off by one)", "case 3", "step 40, group 2, completion 5". */
	label: v.string(),
	/** Rows of a group answer the same prompt; null: alone. */
	group: v.nullable(v.number()),
	prompt: v.string(),
	completion: v.string(),
	answer: v.nullable(v.string()),
	/** null: not recorded. */
	truncated: v.nullable(v.boolean()),
	/** null with an `error`: missing by failure; null without one: the reward does not apply. */
	value,
	error: v.optional(rowErrorSchema),
	expect: v.optional(expectationSchema),
	/** Of a case: whether the value is what it expects. */
	passed: v.optional(v.boolean()),
	/** Of a rollout: the value of the reward of that name which the run recorded. */
	recorded: v.optional(value),
	/** Values of the other rewards of the recipe on the row. */
	others: v.record(v.string(), value),
	/** Where the row was read, to open it: absolute path and line from 1. */
	place: v.optional(v.object({ file: v.string(), line: v.number() })),
	/** Of a rollout: which one of its run. */
	rollout: v.optional(v.object({ step: v.number(), group: v.number(), index: v.number() })),
});
export type VerifiedRow = v.InferOutput<typeof verifiedRowSchema>;

export const verificationStatisticsSchema = v.object({
	rows: v.number(),
	/** Rows with a value. */
	valued: v.number(),
	/** Over rows with a value; null without one. The standard deviation is the sample one (n - 1), 0 for one row. */
	mean: value,
	std: value,
	min: value,
	max: value,
	nulls: v.number(),
	errors: v.number(),
	/** Shares of the valued rows at the largest and at the smallest value; null when all values are equal. */
	ceiling: value,
	floor: value,
	/**
	 * Over problems whose `gold` row and at least one `wrong` row have a value: how many score the gold one strictly above
	 * each of the wrong ones. null: there is no such problem.
	 */
	agreement: v.nullable(v.object({ problems: v.number(), agreed: v.number() })),
	/** Groups of at least two valued rows, and those whose values are all equal. */
	groups: v.number(),
	deadGroups: v.number(),
	/** Mean over groups of the sample standard deviation within the group; null without groups. */
	withinGroupStd: value,
	cases: v.object({ passed: v.number(), failed: v.number() }),
	/** Rollouts whose recorded value differs (or was null where this is not). */
	recorded: v.object({ same: v.number(), different: v.number() }),
	/** Pearson correlation with each other reward over rows where both have values; null: constant, or fewer than 3 rows. */
	correlation: v.record(v.string(), value),
});
export type VerificationStatistics = v.InferOutput<typeof verificationStatisticsSchema>;

/** What a reward did on the rows: one object from which the inline line, the panel, the Test Explorer and the CLI draw. */
export const verificationSchema = v.object({
	format: v.literal(1),
	file: v.string(),
	reward: v.string(),
	/** Where the rows came from, in words: "data/train.jsonl", "run addition-20261120-101010-ab12, step 40". */
	data: v.array(v.string()),
	/** What could not be used, in words: "The recipe's dataset has no answers." */
	remarks: v.array(v.string()),
	rows: v.array(verifiedRowSchema),
	statistics: verificationStatisticsSchema,
	/** Faults of the batch as a whole. */
	faults: v.array(rowErrorSchema),
	coverage: v.nullable(lineCoverageSchema),
	logs: v.array(v.string()),
	/** Scoring time alone. */
	durationMs: v.number(),
});
export type Verification = v.InferOutput<typeof verificationSchema>;
