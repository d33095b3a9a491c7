import * as v from 'valibot';

/*
 * Messages between the lab worker (src/lab/main.ts, a process of its own) and who uses it: the extension, by JSON-RPC over
 * the worker's channel. Requests can be cancelled; every one settles. The command line uses the same objects in process.
 */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const splits = ['train', 'validation'] as const;

/** One rollout, by what everything that opens rollouts takes. */
export const rolloutRefSchema = v.object({
	/** Run folder. */
	run: v.string(),
	split: v.picklist(splits),
	step: v.number(),
	group: v.number(),
	index: v.number(),
});
export type RolloutRef = v.InferOutput<typeof rolloutRefSchema>;

/** How far the index of one run is. */
export const indexProgressSchema = v.object({
	run: v.string(),
	state: v.picklist(['waiting', 'indexing', 'ready', 'failed']),
	/** Bytes of rollout files: read, and there in all. */
	done: count,
	total: count,
	rollouts: count,
	/** Records that could not be read. */
	skipped: count,
	message: v.nullable(v.string()),
});
export type IndexProgress = v.InferOutput<typeof indexProgressSchema>;

/** A value of a result; numbers too large for a double and other types come as text. */
export const cellSchema = v.union([v.null(), v.boolean(), v.number(), v.string()]);
export type Cell = v.InferOutput<typeof cellSchema>;

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
	split: v.optional(v.picklist(splits)),
	steps: v.optional(v.object({ from: v.optional(v.number()), to: v.optional(v.number()) })),
	groups: v.optional(v.array(v.object({ step: v.number(), group: v.number() }))),
	/** The same prompt over training. */
	promptHash: v.optional(v.string()),
	/** By column of the view `rollouts`, or `rewards.<name>`, or `behaviours.<name>`. */
	ranges: v.optional(
		v.array(v.object({ column: v.string(), from: v.optional(v.number()), to: v.optional(v.number()) })),
	),
	correct: v.optional(v.boolean()),
	truncated: v.optional(v.boolean()),
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
	/** Occurrences in the completion. */
	count: count,
	/** The first, with what stands around it. */
	before: v.string(),
	match: v.string(),
	after: v.string(),
});
export type TextHit = v.InferOutput<typeof textHitSchema>;

export const labRequests = {
	/** Which runs there are to know; those that are gone are dropped from the index. Indexing goes on by itself. */
	setRuns: { params: v.object({ runs: v.array(v.string()) }), result: v.object({}) },
	/** Resolves when a run is indexed as it is on disk now; progress comes as notifications meanwhile. */
	index: { params: v.object({ run: v.string() }), result: indexProgressSchema },
	/** One SELECT (or WITH, DESCRIBE, SHOW) over the views of docs/queries.md; anything else fails with `denied`. */
	sql: {
		params: v.object({ sql: v.string(), limit: count, timeoutMs: v.optional(count) }),
		result: resultTableSchema,
	},
	/** Rollouts by filter, sorted by a column. */
	rollouts: {
		params: v.object({
			filter: rolloutFilterSchema,
			sort: v.optional(v.object({ column: v.string(), descending: v.boolean() })),
			limit: count,
			offset: v.optional(count),
		}),
		result: resultTableSchema,
	},
	/** Goes through texts; hits come as `hits` notifications of the same `search`, as do numbers of bytes read. */
	search: {
		params: v.object({ search: v.string(), query: textQuerySchema, filter: rolloutFilterSchema, limit: count }),
		result: v.object({ hits: count, complete: v.boolean(), bytes: count, millis: v.number() }),
	},
	/** Forgets the index and makes it anew. */
	rebuild: { params: v.object({}), result: v.object({}) },
	/** The result of a statement as a file. */
	export: {
		params: v.object({ sql: v.string(), path: v.string(), format: v.picklist(['csv', 'parquet']) }),
		result: v.object({ rows: count, bytes: count }),
	},
} as const;

export const labNotifications = {
	progress: indexProgressSchema,
	hits: v.object({ search: v.string(), hits: v.array(textHitSchema), bytes: count, total: count }),
} as const;
