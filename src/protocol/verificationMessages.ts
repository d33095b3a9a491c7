import * as v from 'valibot';
import { auditSeverities, probeOutcomeSchema } from './audit.ts';
import { comparedGroupSchema, comparisonSchema } from './comparison.ts';
import { lineCoverageSchema } from './rewardHost.ts';
import { expectationSchema, rowSources, verificationStatisticsSchema, verifiedRowSchema } from './verification.ts';

/** Views of one reward. */
export const resultsViews = ['verification', 'audit', 'comparison'] as const;
export type ResultsView = (typeof resultsViews)[number];

/*
 * Messages between a results panel and its webview, in the envelope of webviewMessages.ts. `ready` is always answered with
 * a complete `snapshot`; a `status` is complete too, and names the result that it is about: a webview that has another one
 * says `ready` again. Whole texts travel only when they are asked for; requests about a row name its result, as a row of
 * the next one may be another.
 */

const value = v.nullable(v.number());
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(1000));
const path = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));

/** Where the rows of a verification come from: the dataset and cases, recorded rollouts, a selected text. */
export const resultParts = ['data', 'rollouts', 'selection'] as const;
export const resultPartSchema = v.picklist(resultParts);
export type ResultPart = v.InferOutput<typeof resultPartSchema>;

const reward = { file: path, reward: name };

/** What a comparison was asked for, to do it again. */
export const comparisonAnswersSchema = v.object({
	run: v.optional(path),
	with: v.optional(v.picklist(['HEAD', 'file', 'weights'])),
	file: v.optional(path),
	reward: v.optional(name),
	weights: v.optional(v.record(v.string(), v.number())),
});
export type ComparisonAnswers = v.InferOutput<typeof comparisonAnswersSchema>;

/** What a panel shows: enough to find the results, or to make them again, after a reload. */
export const resultPlaceSchema = v.variant('view', [
	v.object({ view: v.literal('verification'), ...reward }),
	v.object({ view: v.literal('audit'), ...reward }),
	v.object({ view: v.literal('comparison'), ...reward, answers: comparisonAnswersSchema }),
]);
export type ResultPlace = v.InferOutput<typeof resultPlaceSchema>;

/** A saved state as far as the panel trusts it. */
export const resultStateSchema = v.looseObject({ place: resultPlaceSchema });

/**
 * - `idle`: nothing is known in this window; `loading`: the reward file is read; `running`: rows are scored
 * - `done`: the result is whole; `failed`: `failure` says why, and an earlier result stays
 */
export const resultPhases = ['idle', 'loading', 'running', 'done', 'failed'] as const;

export const resultStatusSchema = v.object({
	phase: v.picklist(resultPhases),
	failure: v.nullable(v.object({ message: v.string(), action: v.nullable(v.string()) })),
	/** The file has changed since. */
	stale: v.boolean(),
	/** Which result is there; 0: none. A new result has a new number. */
	result: count,
});
export type ResultStatus = v.InferOutput<typeof resultStatusSchema>;

const { entries: verified } = verifiedRowSchema;

/** A row without its whole texts. */
export const rowSummarySchema = v.object({
	source: v.picklist(rowSources),
	label: v.string(),
	group: v.nullable(v.number()),
	/** Beginnings of the texts. */
	prompt: v.string(),
	completion: v.string(),
	/** UTF-16 code units of the completion. */
	size: count,
	/** null: not recorded. */
	truncated: v.nullable(v.boolean()),
	value,
	/** First line of the error. */
	error: v.nullable(v.string()),
	expect: v.optional(expectationSchema),
	passed: verified.passed,
	recorded: verified.recorded,
	others: verified.others,
	hasPlace: v.boolean(),
});
export type RowSummary = v.InferOutput<typeof rowSummarySchema>;

export const verificationContentSchema = v.object({
	view: v.literal('verification'),
	part: resultPartSchema,
	/** Every part that has results, with its data in words. */
	parts: v.array(v.object({ part: resultPartSchema, data: v.string() })),
	data: v.array(v.string()),
	remarks: v.array(v.string()),
	statistics: verificationStatisticsSchema,
	/** The first rows; `loadRows` brings the others. */
	rows: v.array(rowSummarySchema),
	total: count,
	/** Faults of the batch as a whole, and lines of the cases file that are no cases, in words. */
	faults: v.array(v.string()),
	coverage: v.nullable(lineCoverageSchema),
	/** Lines that the reward printed. */
	printed: count,
	durationMs: v.number(),
});
export type VerificationContent = v.InferOutput<typeof verificationContentSchema>;

export const evidenceSchema = v.object({
	prompt: v.string(),
	answer: v.nullable(v.string()),
	/** Beginning of the completion; `size` is the length of the whole in UTF-16 code units. */
	completion: v.string(),
	size: count,
	value: v.number(),
	honest: v.number(),
	/** It can become a labeled case: it holds all that was scored. */
	whole: v.boolean(),
});

export const auditContentSchema = v.object({
	view: v.literal('audit'),
	data: v.array(v.string()),
	remarks: v.array(v.string()),
	rows: count,
	honest: value,
	probes: v.array(probeOutcomeSchema),
	findings: v.array(
		v.object({
			probe: v.string(),
			title: v.string(),
			cause: v.string(),
			severity: v.picklist(auditSeverities),
			rows: count,
			fooled: count,
			fix: v.string(),
			evidence: v.array(evidenceSchema),
		}),
	),
	durationMs: v.number(),
});
export type AuditContent = v.InferOutput<typeof auditContentSchema>;

export const comparedSummarySchema = v.object({
	step: v.number(),
	group: v.number(),
	index: v.number(),
	prompt: v.string(),
	completion: v.string(),
	size: count,
	/** null: not recorded. */
	truncated: v.nullable(v.boolean()),
	before: value,
	after: value,
	advantageBefore: v.number(),
	advantageAfter: v.number(),
	/** The value crosses the middle, or turns to or from null. */
	flipped: v.boolean(),
	error: v.nullable(v.string()),
});
export type ComparedSummary = v.InferOutput<typeof comparedSummarySchema>;

export const comparisonContentSchema = v.object({
	view: v.literal('comparison'),
	before: v.string(),
	after: v.string(),
	/** Name of the run's folder. */
	run: v.string(),
	steps: v.array(v.number()),
	/** The first rows; `loadRows` brings the others. */
	rows: v.array(comparedSummarySchema),
	total: count,
	groups: v.array(comparedGroupSchema),
	summary: comparisonSchema.entries.summary,
	remarks: v.array(v.string()),
});
export type ComparisonContent = v.InferOutput<typeof comparisonContentSchema>;

export const resultContentSchema = v.variant('view', [
	verificationContentSchema,
	auditContentSchema,
	comparisonContentSchema,
]);
export type ResultContent = v.InferOutput<typeof resultContentSchema>;

export const resultEventSchema = v.variant('type', [
	/** Complete: everything the webview needs to start over. */
	v.object({
		type: v.literal('snapshot'),
		place: resultPlaceSchema,
		/** The file for people, relative to the workspace where it is in one. */
		fileLabel: v.string(),
		status: resultStatusSchema,
		/** null: there is no result. */
		content: v.nullable(resultContentSchema),
	}),
	v.object({ type: v.literal('status'), status: resultStatusSchema }),
]);
export type ResultEvent = v.InferOutput<typeof resultEventSchema>;

const row = { result: count, index: count };

export const resultCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	/** Makes the result again: verifies, audits or compares again. */
	v.object({ type: v.literal('again') }),
	v.object({ type: v.literal('cancel') }),
	v.object({ type: v.literal('choosePart'), part: resultPartSchema }),
	/** Other views of the same reward. */
	v.object({ type: v.literal('openView'), view: v.picklist(resultsViews) }),
	/** The reward file, at a line (from 1) or at the reward. */
	v.object({ type: v.literal('openFile'), line: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1))) }),
	/** What the reward printed. */
	v.object({ type: v.literal('openLog') }),
	/** An error of the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type ResultCommand = v.InferOutput<typeof resultCommandSchema>;

export const resultCopyParts = ['completion', 'prompt', 'json'] as const;
export type ResultCopyPart = (typeof resultCopyParts)[number];

const done = v.object({});
const evidence = v.object({ result: count, finding: count, index: count });

/** What the panel answers. A request about a result that has been replaced fails with `mismatch`. */
export const resultRequests = {
	/** Rows without their whole texts, as many as go into one message, from a position on. */
	loadRows: {
		params: v.object({ result: count, from: count }),
		result: v.object({ rows: v.union([v.array(rowSummarySchema), v.array(comparedSummarySchema)]) }),
	},
	/** A row of a verification or of a comparison with its whole texts. */
	loadRow: {
		params: v.object(row),
		result: v.object({
			prompt: v.string(),
			completion: v.string(),
			answer: v.nullable(v.string()),
			/** Message and stack. */
			error: v.nullable(v.object({ message: v.string(), stack: v.nullable(v.string()), line: v.nullable(count) })),
			/** Where it was read; null: it was made here. */
			place: v.nullable(v.object({ name: v.string(), line: count })),
			/** Whether it is a recorded rollout, which the rollouts panel can show. */
			rollout: v.boolean(),
		}),
	},
	/** Case-insensitive text search in prompts, completions, answers and labels: the rows, ascending. */
	search: {
		params: v.object({ result: count, text: v.pipe(v.string(), v.minLength(1), v.maxLength(1000)) }),
		result: v.object({ rows: v.array(count) }),
	},
	copy: { params: v.object({ ...row, part: v.picklist(resultCopyParts) }), result: done },
	/** The completion as a read-only trace document. */
	openText: { params: v.object(row), result: done },
	/** The line that the row was read from. */
	openPlace: { params: v.object(row), result: done },
	debugRow: { params: v.object(row), result: done },
	copyEvidence: { params: evidence, result: done },
	openEvidence: { params: evidence, result: done },
	/** Adds it to the reward's labeled cases. */
	addCase: { params: evidence, result: v.object({ file: v.string(), line: count }) },
	/** The group of a recorded rollout, in the rollouts panel. */
	openRollouts: { params: v.object(row), result: done },
} as const;
export type RowTexts = v.InferOutput<typeof resultRequests.loadRow.result>;
