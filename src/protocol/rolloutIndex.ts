import * as v from 'valibot';
import { rolloutSplits } from './rolloutSplit.ts';
import { tableExports } from './tableExport.ts';

/*
 * Messages between the index worker (src/rolloutIndex/main.ts, a separate process) and its client, the extension, as
 * JSON-RPC over the worker's channel. Requests can be canceled, and every request settles. The command line uses the
 * same objects in process.
 */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Identifies one rollout with the fields that all commands for opening rollouts accept. */
export const rolloutRefSchema = v.object({
	/** Run folder. */
	run: v.string(),
	split: v.picklist(rolloutSplits),
	/** `noStep` if the trainer records no steps. */
	step: v.number(),
	group: v.number(),
	index: v.number(),
});
export type RolloutRef = v.InferOutput<typeof rolloutRefSchema>;

/** Indexing progress for one run. */
export const indexProgressSchema = v.object({
	run: v.string(),
	state: v.picklist(['waiting', 'indexing', 'ready', 'failed']),
	/**
	 * Number of bytes read from rollout files, and the total number of bytes. For other trainers' runs, steps are counted
	 * instead of bytes.
	 */
	done: count,
	total: count,
	rollouts: count,
	/** Number of unreadable records. */
	skipped: count,
	message: v.nullable(v.string()),
});
export type IndexProgress = v.InferOutput<typeof indexProgressSchema>;

export const indexStatusSchema = v.object({
	runs: v.array(indexProgressSchema),
	/**
	 * `own`: this workspace's file. `second`: a separate file, because another window has the first one open. `memory`:
	 * in memory.
	 */
	index: v.picklist(['own', 'second', 'memory']),
	/** Size on disk in bytes. */
	bytes: count,
	/** Message for the user, for example, that the index was damaged and is being rebuilt. */
	message: v.nullable(v.string()),
});
export type IndexStatus = v.InferOutput<typeof indexStatusSchema>;

/** Location of a rollout; same as RolloutPlace in src/runs/runContent.ts. */
export const rolloutPlaceSchema = v.object({
	file: v.string(),
	offset: count,
	length: count,
	item: count,
	group: v.number(),
	index: v.number(),
});

/** A result value; numbers too large for a double and values of other types are strings. */
export const cellSchema = v.union([v.null(), v.boolean(), v.number(), v.string()]);
export type Cell = v.InferOutput<typeof cellSchema>;

const parametersSchema = v.record(v.string(), cellSchema);

export const resultTableSchema = v.object({
	columns: v.array(v.object({ name: v.string(), type: v.string() })),
	/** Cells in row-major order. */
	rows: v.array(v.array(cellSchema)),
	/** Whether there are more rows than requested. */
	truncated: v.boolean(),
	/** One entry per row; null if no row refers to a rollout. */
	refs: v.nullable(v.array(v.nullable(rolloutRefSchema))),
	millis: v.number(),
});
export type ResultTable = v.InferOutput<typeof resultTableSchema>;

/** Selects rollouts that match all conditions. Absent conditions are ignored. */
export const rolloutFilterSchema = v.object({
	runs: v.optional(v.array(v.string())),
	split: v.optional(v.picklist(rolloutSplits)),
	steps: v.optional(v.object({ from: v.optional(v.number()), to: v.optional(v.number()) })),
	groups: v.optional(v.array(v.object({ step: v.number(), group: v.number() }))),
	/** Selects the same prompt throughout training. */
	promptHash: v.optional(v.string()),
	/**
	 * Ranges of numeric columns of the `rollouts` view (src/protocol/indexViews.ts) or `rewards.<name>`. Both bounds are
	 * inclusive.
	 */
	ranges: v.optional(
		v.array(v.object({ column: v.string(), from: v.optional(v.number()), to: v.optional(v.number()) })),
	),
	correct: v.optional(v.boolean()),
	truncated: v.optional(v.boolean()),
	/** SQL condition on columns of `rollouts`, checked like any statement. */
	where: v.optional(v.string()),
});
export type RolloutFilter = v.InferOutput<typeof rolloutFilterSchema>;

/** Text that completions must contain. */
export const textQuerySchema = v.object({
	pattern: v.pipe(v.string(), v.minLength(1), v.maxLength(1000)),
	/** Whether the pattern is a JavaScript regular expression (flags u and s) or plain text. */
	regex: v.boolean(),
	caseSensitive: v.boolean(),
});
export type TextQuery = v.InferOutput<typeof textQuerySchema>;

export const textHitSchema = v.object({
	...rolloutRefSchema.entries,
	/** Whether the trainer records no steps. */
	stepless: v.optional(v.boolean()),
	/** Number of occurrences in the completion. */
	count: count,
	/** The first occurrence, with surrounding text. */
	before: v.string(),
	match: v.string(),
	after: v.string(),
});
export type TextHit = v.InferOutput<typeof textHitSchema>;

export const indexRequests = {
	/** Sets the known runs; runs not in the list are dropped from the index. Indexing then continues on its own. */
	setRuns: { params: v.object({ runs: v.array(v.string()) }), result: v.object({}) },
	/** Returns the state of every known run and of the index as a whole. */
	status: { params: v.object({}), result: indexStatusSchema },
	/**
	 * Resolves when the index of a run matches its files on disk; progress arrives as notifications until then. Adds the
	 * run if `setRuns` did not include it. Canceling stops indexing the run but keeps the rollouts indexed so far.
	 */
	index: { params: v.object({ run: v.string() }), result: indexProgressSchema },
	/**
	 * Runs one SELECT (or WITH, FROM, VALUES, DESCRIBE, SHOW, EXPLAIN) over the views in docs/queries.md. Any other
	 * statement fails with `denied`, an invalid one with `invalid` and DuckDB's message. `$name` in a statement is a
	 * parameter. Returns at most `limit` rows and 16 MB of cells. The default time limit is 30 s; exceeding it fails with
	 * `timeout`.
	 */
	sql: {
		params: v.object({
			sql: v.pipe(v.string(), v.maxLength(100_000)),
			limit: count,
			/** Number of rows to skip. */
			offset: v.optional(count),
			timeoutMs: v.optional(count),
			parameters: v.optional(parametersSchema),
		}),
		result: resultTableSchema,
	},
	/**
	 * Returns the rollouts that match a filter, sorted by a column (as in `ranges`), with all columns of the `rollouts`
	 * view and `refs`.
	 */
	rollouts: {
		params: v.object({
			filter: rolloutFilterSchema,
			sort: v.optional(v.object({ column: v.string(), descending: v.boolean() })),
			limit: count,
			offset: v.optional(count),
		}),
		result: resultTableSchema,
	},
	/** Counts the rollouts that match a filter, and their groups, steps and runs. */
	count: {
		params: v.object({ filter: rolloutFilterSchema }),
		result: v.object({ rollouts: count, groups: count, steps: count, runs: count }),
	},
	/**
	 * Returns a histogram of a column over all rollouts that match a filter: `buckets` buckets of equal width between the
	 * smallest and the largest finite value, each with its count. Booleans count as 0 and 1.
	 */
	histogram: {
		params: v.object({
			filter: rolloutFilterSchema,
			column: v.string(),
			buckets: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1000)),
		}),
		result: v.object({
			low: v.nullable(v.number()),
			high: v.nullable(v.number()),
			counts: v.array(count),
			/** Number of rollouts without a value. */
			nulls: count,
		}),
	},
	/** Averages columns per step over the rollouts that match a filter, for training curves (behaviors, length). */
	overTraining: {
		params: v.object({ filter: rolloutFilterSchema, columns: v.pipe(v.array(v.string()), v.maxLength(50)) }),
		result: v.object({
			/** Ascending by run, then step. `means` is parallel to `columns`, with null where no rollout has a value. */
			points: v.array(
				v.object({
					run: v.string(),
					step: v.number(),
					rollouts: count,
					means: v.array(v.nullable(v.number())),
				}),
			),
		}),
	},
	/**
	 * Returns the locations of a group's rollouts by index. Also works during indexing, as soon as the step is indexed.
	 */
	places: {
		params: v.object({
			run: v.string(),
			split: v.picklist(rolloutSplits),
			step: v.number(),
			group: v.number(),
		}),
		result: v.object({ places: v.array(rolloutPlaceSchema) }),
	},
	/**
	 * Searches completions. Hits and the number of bytes read arrive as `hits` notifications with the same `search`, in
	 * file order. `complete` is false if the hit limit or one of `limits` stopped the search.
	 */
	search: {
		params: v.object({ search: v.string(), query: textQuerySchema, filter: rolloutFilterSchema, limit: count }),
		result: v.object({
			hits: count,
			complete: v.boolean(),
			bytes: count,
			millis: v.number(),
			/** Limitations as text: rollouts on which the expression took too long, files that changed during the search. */
			limits: v.array(v.string()),
		}),
	},
	/** Pauses or resumes background indexing; runs requested with `index` are indexed either way. */
	pause: { params: v.object({ paused: v.boolean() }), result: v.object({}) },
	/** Deletes and rebuilds the index. */
	rebuild: { params: v.object({}), result: v.object({}) },
	/** Writes the result of a statement to a file. */
	export: {
		params: v.object({
			sql: v.string(),
			path: v.string(),
			format: v.picklist(tableExports),
			parameters: v.optional(parametersSchema),
		}),
		result: v.object({ rows: count, bytes: count }),
	},
} as const;
export type IndexMethod = keyof typeof indexRequests;
export type IndexParams<M extends IndexMethod> = v.InferInput<(typeof indexRequests)[M]['params']>;
export type IndexResult<M extends IndexMethod> = v.InferOutput<(typeof indexRequests)[M]['result']>;

export const indexNotifications = {
	progress: indexProgressSchema,
	hits: v.object({ search: v.string(), hits: v.array(textHitSchema), bytes: count, total: count }),
	/** The worker is about to exit to free memory and requests a restart. */
	startAgain: v.object({}),
	/** A message for the log. */
	log: v.object({ message: v.string() }),
} as const;
export type IndexNotification = keyof typeof indexNotifications;
export type IndexNews<N extends IndexNotification> = v.InferOutput<(typeof indexNotifications)[N]>;
