import * as v from 'valibot';
import { auditSeverities, probeOutcomeSchema } from './audit.ts';
import { comparedGroupSchema, comparisonSchema } from './comparison.ts';
import { lineCoverageSchema } from './rewardHost.ts';
import { expectationSchema, rowSources, verificationStatisticsSchema, verifiedRowSchema } from './verification.ts';

/** Views for one reward. */
export const resultsViews = ['verification', 'audit', 'comparison'] as const;
export type ResultsView = (typeof resultsViews)[number];

/*
 * Messages between a results panel and its webview, in the envelope of webviewMessages.ts. `ready` is always answered
 * with a complete `snapshot`. A `status` is complete too and names its result; a webview that shows a different result
 * sends `ready` again. Full text is sent only on request. Requests about a row name the result, because the next result
 * can have a different row at that index.
 */

const value = v.nullable(v.number());
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(1000));
const path = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));

/** Where the rows for a verification come from: the dataset and cases, recorded rollouts, or selected text. */
export const resultParts = ['data', 'rollouts', 'selection'] as const;
export const resultPartSchema = v.picklist(resultParts);
export type ResultPart = v.InferOutput<typeof resultPartSchema>;

const reward = { file: path, reward: name };

/** Settings of a comparison, for rerunning it. */
export const comparisonAnswersSchema = v.object({
	run: v.optional(path),
	with: v.optional(v.picklist(['HEAD', 'file', 'weights'])),
	file: v.optional(path),
	reward: v.optional(name),
	weights: v.optional(v.record(v.string(), v.number())),
});
export type ComparisonAnswers = v.InferOutput<typeof comparisonAnswersSchema>;

/**
 * Identifies what a panel shows, with enough information to find the results after a reload or to recompute them.
 */
export const resultPlaceSchema = v.variant('view', [
	v.object({ view: v.literal('verification'), ...reward }),
	v.object({ view: v.literal('audit'), ...reward }),
	v.object({ view: v.literal('comparison'), ...reward, answers: comparisonAnswersSchema }),
]);
export type ResultPlace = v.InferOutput<typeof resultPlaceSchema>;

/** The part of a saved state that the panel trusts. */
export const resultStateSchema = v.looseObject({ place: resultPlaceSchema });

/**
 * - `idle`: this window has no data; `loading`: the reward file is being loaded; `running`: rows are being scored
 * - `done`: the result is complete; `failed`: `failure` explains why, and an earlier result remains
 */
export const resultPhases = ['idle', 'loading', 'running', 'done', 'failed'] as const;

export const resultStatusSchema = v.object({
	phase: v.picklist(resultPhases),
	failure: v.nullable(v.object({ message: v.string(), action: v.nullable(v.string()) })),
	/** Whether the file has changed since the result was computed. */
	stale: v.boolean(),
	/** Number of the current result, or 0 if there is none. Every new result gets a new number. */
	result: count,
});
export type ResultStatus = v.InferOutput<typeof resultStatusSchema>;

const { entries: verified } = verifiedRowSchema;

/** A row without its full text. */
export const rowSummarySchema = v.object({
	source: v.picklist(rowSources),
	label: v.string(),
	group: v.nullable(v.number()),
	/** Start of the prompt and of the completion. */
	prompt: v.string(),
	completion: v.string(),
	/** Length of the completion in UTF-16 code units. */
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
	/** All parts that have results, with a description of their data. */
	parts: v.array(v.object({ part: resultPartSchema, data: v.string() })),
	data: v.array(v.string()),
	remarks: v.array(v.string()),
	statistics: verificationStatisticsSchema,
	/** The first rows; `loadRows` returns the rest. */
	rows: v.array(rowSummarySchema),
	total: count,
	/** Descriptions of errors that affect the whole batch, and of invalid lines in the case file. */
	faults: v.array(v.string()),
	coverage: v.nullable(lineCoverageSchema),
	/** Number of lines that the reward printed. */
	printed: count,
	durationMs: v.number(),
});
export type VerificationContent = v.InferOutput<typeof verificationContentSchema>;

export const evidenceSchema = v.object({
	prompt: v.string(),
	answer: v.nullable(v.string()),
	/** Start of the completion; `size` is the full length in UTF-16 code units. */
	completion: v.string(),
	size: count,
	value: v.number(),
	honest: v.number(),
	/** Whether the row can become a labeled case, that is, whether it includes everything that was scored. */
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
	/** null if the trainer records no steps. */
	step: v.nullable(v.number()),
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
	/** Whether the value crosses the midpoint, or changes to or from null. */
	flipped: v.boolean(),
	error: v.nullable(v.string()),
});
export type ComparedSummary = v.InferOutput<typeof comparedSummarySchema>;

export const comparisonContentSchema = v.object({
	view: v.literal('comparison'),
	before: v.string(),
	after: v.string(),
	/** Name of the run folder. */
	run: v.string(),
	steps: v.array(v.number()),
	/** The first rows; `loadRows` returns the rest. */
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
	/** Complete state: everything the webview needs to start over. */
	v.object({
		type: v.literal('snapshot'),
		place: resultPlaceSchema,
		/** Display path of the file, relative to the workspace if it is inside one. */
		fileLabel: v.string(),
		status: resultStatusSchema,
		/** null if there is no result. */
		content: v.nullable(resultContentSchema),
	}),
	v.object({ type: v.literal('status'), status: resultStatusSchema }),
]);
export type ResultEvent = v.InferOutput<typeof resultEventSchema>;

const row = { result: count, index: count };

export const resultCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	/** Recomputes the result by verifying, auditing or comparing again. */
	v.object({ type: v.literal('again') }),
	v.object({ type: v.literal('cancel') }),
	v.object({ type: v.literal('choosePart'), part: resultPartSchema }),
	/** Opens another view for the same reward. */
	v.object({ type: v.literal('openView'), view: v.picklist(resultsViews) }),
	/** Opens the reward file at a line (1-based) or at the reward. */
	v.object({ type: v.literal('openFile'), line: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1))) }),
	/** Opens the reward's printed output. */
	v.object({ type: v.literal('openLog') }),
	/** An error in the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type ResultCommand = v.InferOutput<typeof resultCommandSchema>;

export const resultCopyParts = ['completion', 'prompt', 'json'] as const;
export type ResultCopyPart = (typeof resultCopyParts)[number];

const done = v.object({});
const evidence = v.object({ result: count, finding: count, index: count });

/** Requests that the panel answers. Requests about a result that has been replaced fail with `mismatch`. */
export const resultRequests = {
	/** Returns rows starting at an index, without their full text; as many as fit in one message. */
	loadRows: {
		params: v.object({ result: count, from: count }),
		result: v.object({ rows: v.union([v.array(rowSummarySchema), v.array(comparedSummarySchema)]) }),
	},
	/** Returns one row of a verification or comparison with its full text. */
	loadRow: {
		params: v.object(row),
		result: v.object({
			prompt: v.string(),
			completion: v.string(),
			answer: v.nullable(v.string()),
			/** Error message and stack. */
			error: v.nullable(v.object({ message: v.string(), stack: v.nullable(v.string()), line: v.nullable(count) })),
			/** Source location of the row; null if it was generated here. */
			place: v.nullable(v.object({ name: v.string(), line: count })),
			/** Whether the row is a recorded rollout, which the rollouts panel can show. */
			rollout: v.boolean(),
		}),
	},
	/**
	 * Searches prompts, completions, answers and labels, ignoring case, and returns the matching rows in ascending order.
	 */
	search: {
		params: v.object({ result: count, text: v.pipe(v.string(), v.minLength(1), v.maxLength(1000)) }),
		result: v.object({ rows: v.array(count) }),
	},
	copy: { params: v.object({ ...row, part: v.picklist(resultCopyParts) }), result: done },
	/** Opens the completion as a read-only trace document. */
	openText: { params: v.object(row), result: done },
	/** Opens the line that the row came from. */
	openPlace: { params: v.object(row), result: done },
	debugRow: { params: v.object(row), result: done },
	copyEvidence: { params: evidence, result: done },
	openEvidence: { params: evidence, result: done },
	/** Adds the row to the reward's labeled cases. */
	addCase: { params: evidence, result: v.object({ file: v.string(), line: count }) },
	/** Opens the group of a recorded rollout in the rollouts panel. */
	openRollouts: { params: v.object(row), result: done },
} as const;
export type RowTexts = v.InferOutput<typeof resultRequests.loadRow.result>;
