import * as v from 'valibot';
import { rolloutSplits } from './rolloutSplit.ts';
import { tableExports } from './tableExport.ts';

/*
 * Messages between the index worker (src/rolloutIndex/main.ts, its own process) and who uses it: the extension, by JSON-RPC over
 * the worker's channel. Requests can be cancelled; every one settles. The command line uses the same objects in process.
 */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** One rollout, by what everything that opens rollouts takes. */
export const rolloutRefSchema = v.object({
	/** Run folder. */
	run: v.string(),
	split: v.picklist(rolloutSplits),
	/** `noStep` where its trainer records none. */
	step: v.number(),
	group: v.number(),
	index: v.number(),
});
export type RolloutRef = v.InferOutput<typeof rolloutRefSchema>;

/** How far the index of one run is. */
export const indexProgressSchema = v.object({
	run: v.string(),
	state: v.picklist(['waiting', 'indexing', 'ready', 'failed']),
	/** Bytes of rollout files, read and there in all; of another trainer's run its steps. */
	done: count,
	total: count,
	rollouts: count,
	/** Records that could not be read. */
	skipped: count,
	message: v.nullable(v.string()),
});
export type IndexProgress = v.InferOutput<typeof indexProgressSchema>;

export const indexStatusSchema = v.object({
	runs: v.array(indexProgressSchema),
	/** `own`: the file of this workspace; `second`: a file of its own, since another window holds that one; `memory`. */
	index: v.picklist(['own', 'second', 'memory']),
	/** Bytes on disk. */
	bytes: count,
	/** What a person should know: that the index was damaged and is rebuilt. */
	message: v.nullable(v.string()),
});
export type IndexStatus = v.InferOutput<typeof indexStatusSchema>;

/** Where a rollout lies; as RolloutPlace in src/runs/runContent.ts. */
export const rolloutPlaceSchema = v.object({
	file: v.string(),
	offset: count,
	length: count,
	item: count,
	group: v.number(),
	index: v.number(),
});

/** A value of a result; numbers too large for a double and other types come as text. */
export const cellSchema = v.union([v.null(), v.boolean(), v.number(), v.string()]);
export type Cell = v.InferOutput<typeof cellSchema>;

const parametersSchema = v.record(v.string(), cellSchema);

export const resultTableSchema = v.object({
	columns: v.array(v.object({ name: v.string(), type: v.string() })),
	/** By row. */
	rows: v.array(v.array(cellSchema)),
	/** More rows than were asked for. */
	truncated: v.boolean(),
	/** null: none of the rows names a rollout; else one entry a row. */
	refs: v.nullable(v.array(v.nullable(rolloutRefSchema))),
	millis: v.number(),
});
export type ResultTable = v.InferOutput<typeof resultTableSchema>;

/** Which rollouts; what is absent does not filter. All must hold. */
export const rolloutFilterSchema = v.object({
	runs: v.optional(v.array(v.string())),
	split: v.optional(v.picklist(rolloutSplits)),
	steps: v.optional(v.object({ from: v.optional(v.number()), to: v.optional(v.number()) })),
	groups: v.optional(v.array(v.object({ step: v.number(), group: v.number() }))),
	/** The same prompt over training. */
	promptHash: v.optional(v.string()),
	/** By a numeric column of the view `rollouts` (src/protocol/indexViews.ts), or `rewards.<name>`. Both ends belong to it. */
	ranges: v.optional(
		v.array(v.object({ column: v.string(), from: v.optional(v.number()), to: v.optional(v.number()) })),
	),
	correct: v.optional(v.boolean()),
	truncated: v.optional(v.boolean()),
	/** A condition of SQL over the columns of `rollouts`, checked like every statement. */
	where: v.optional(v.string()),
});
export type RolloutFilter = v.InferOutput<typeof rolloutFilterSchema>;

/** Text that completions must hold. */
export const textQuerySchema = v.object({
	pattern: v.pipe(v.string(), v.minLength(1), v.maxLength(1000)),
	/** Of JavaScript, flags u and s; else plain text. */
	regex: v.boolean(),
	caseSensitive: v.boolean(),
});
export type TextQuery = v.InferOutput<typeof textQuerySchema>;

export const textHitSchema = v.object({
	...rolloutRefSchema.entries,
	/** Its trainer records no steps. */
	stepless: v.optional(v.boolean()),
	/** Occurrences in the completion. */
	count: count,
	/** The first, with what stands around it. */
	before: v.string(),
	match: v.string(),
	after: v.string(),
});
export type TextHit = v.InferOutput<typeof textHitSchema>;

export const indexRequests = {
	/** Which runs there are to know; those that are gone are dropped from the index. Indexing continues by itself. */
	setRuns: { params: v.object({ runs: v.array(v.string()) }), result: v.object({}) },
	/** Where every known run stands, and what the index as a whole has to say. */
	status: { params: v.object({}), result: indexStatusSchema },
	/**
	 * Resolves when a run is indexed as it is on disk now; progress comes as notifications in the meantime. A run that was not
	 * among those of `setRuns` is added. Cancelling stops the indexing of the run; what is done stays.
	 */
	index: { params: v.object({ run: v.string() }), result: indexProgressSchema },
	/**
	 * One SELECT (or WITH, FROM, VALUES, DESCRIBE, SHOW, EXPLAIN) over the views of docs/queries.md; anything else fails
	 * with `denied`, a mistake in it with `invalid` and DuckDB's words. `$name` in it stands for a parameter. At most
	 * `limit` rows and 16 MB of cells come back. Default time limit 30 s: `timeout`.
	 */
	sql: {
		params: v.object({
			sql: v.pipe(v.string(), v.maxLength(100_000)),
			limit: count,
			timeoutMs: v.optional(count),
			parameters: v.optional(parametersSchema),
		}),
		result: resultTableSchema,
	},
	/** Rollouts by filter, sorted by a column (as in `ranges`); all columns of the view `rollouts`, with `refs`. */
	rollouts: {
		params: v.object({
			filter: rolloutFilterSchema,
			sort: v.optional(v.object({ column: v.string(), descending: v.boolean() })),
			limit: count,
			offset: v.optional(count),
		}),
		result: resultTableSchema,
	},
	/** How many rollouts a filter lets through, and in how many groups, steps and runs. */
	count: {
		params: v.object({ filter: rolloutFilterSchema }),
		result: v.object({ rollouts: count, groups: count, steps: count, runs: count }),
	},
	/**
	 * A column over all rollouts of a filter: `buckets` of equal width between its least and largest finite value, each
	 * with its number; booleans count as 0 and 1.
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
			/** Rollouts that have no value. */
			nulls: count,
		}),
	},
	/** Columns averaged by step over the rollouts of a filter, for curves over training (behaviors, length). */
	overTraining: {
		params: v.object({ filter: rolloutFilterSchema, columns: v.pipe(v.array(v.string()), v.maxLength(50)) }),
		result: v.object({
			/** Ascending by run, then step. `means` parallel to `columns`; null: no rollout has a value. */
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
	/** Where the rollouts of one group lie, by index. Answered also while the run is being indexed, once its step is. */
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
	 * Goes through the texts of completions; hits come as `hits` notifications of the same `search`, in the order of the
	 * files, as do numbers of bytes read. `complete` is false where the limit of hits, or a limit in `limits`, ended it.
	 */
	search: {
		params: v.object({ search: v.string(), query: textQuerySchema, filter: rolloutFilterSchema, limit: count }),
		result: v.object({
			hits: count,
			complete: v.boolean(),
			bytes: count,
			millis: v.number(),
			/** In words: rollouts on which the expression took too long, files that changed in the meantime. */
			limits: v.array(v.string()),
		}),
	},
	/** Stops indexing by itself, or lets it continue; a run that is asked for with `index` is indexed all the same. */
	pause: { params: v.object({ paused: v.boolean() }), result: v.object({}) },
	/** Forgets the index and makes it again. */
	rebuild: { params: v.object({}), result: v.object({}) },
	/** The result of a statement as a file. */
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
	/** The worker is about to end, for the sake of memory, and wants to be started again. */
	startAgain: v.object({}),
	/** Something to write to the log. */
	log: v.object({ message: v.string() }),
} as const;
export type IndexNotification = keyof typeof indexNotifications;
export type IndexNews<N extends IndexNotification> = v.InferOutput<(typeof indexNotifications)[N]>;
