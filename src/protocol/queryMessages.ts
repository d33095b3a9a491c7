import * as v from 'valibot';
import { failureDataSchema } from './failureData.ts';
import {
	indexProgressSchema,
	resultTableSchema,
	rolloutFilterSchema,
	rolloutRefSchema,
	textHitSchema,
	textQuerySchema,
} from './rolloutIndex.ts';
import { tableExports } from './tableExport.ts';

/*
 * Messages between the query panel and its webview, in the envelope of webviewMessages.ts. The webview sends `ready`
 * whenever it (re)starts, and the panel replies with a `snapshot` that includes the last result, so hiding and
 * reopening the view does not rerun a query.
 */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const path = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));

/** Maximum number of rows shown in a table; exports include all rows. */
export const maxRows = 10_000;
/** Maximum number of search hits shown. */
export const maxHits = 2000;
/** Maximum length of a statement, in characters. */
export const longestStatement = 100_000;
const statement = v.pipe(v.string(), v.maxLength(longestStatement));

export const queryRunSchema = v.object({
	folder: path,
	/** Display name. */
	name: v.string(),
	/** `reasoning-lab`, or another trainer's format. */
	format: v.string(),
	/** null until the index reports progress. */
	progress: v.nullable(indexProgressSchema),
});
export type QueryRun = v.InferOutput<typeof queryRunSchema>;

export const sortSchema = v.object({ column: v.string(), descending: v.boolean() });
export type Sort = v.InferOutput<typeof sortSchema>;

/** A query as the user entered it; `statement` is the SQL that the index runs. */
export const questionSchema = v.variant('kind', [
	v.object({
		kind: v.literal('sql'),
		/** Does not include the sort order added by clicking a column. */
		sql: statement,
		sort: v.nullable(sortSchema),
	}),
	v.object({ kind: v.literal('search'), query: textQuerySchema, filter: rolloutFilterSchema }),
]);
export type Question = v.InferOutput<typeof questionSchema>;

/** Outcome of a search. */
export const searchEndSchema = v.object({
	hits: count,
	/** false if the search stopped at the hit limit or at one of `limits`. */
	complete: v.boolean(),
	/** 0 if unknown. */
	bytes: count,
	millis: v.number(),
	limits: v.array(v.string()),
});
export type SearchEnd = v.InferOutput<typeof searchEndSchema>;

/** Result of a query, possibly incomplete. */
export const answerSchema = v.variant('kind', [
	v.object({ kind: v.literal('table'), question: questionSchema, table: resultTableSchema }),
	v.object({
		kind: v.literal('hits'),
		question: questionSchema,
		hits: v.array(textHitSchema),
		/** null while the search is running or after it was canceled. */
		end: v.nullable(searchEndSchema),
	}),
	v.object({ kind: v.literal('failure'), question: questionSchema, failure: failureDataSchema }),
]);
export type Answer = v.InferOutput<typeof answerSchema>;

const overview = {
	runs: v.array(queryRunSchema),
	/** Names of the reward components in the index. */
	components: v.array(v.string()),
	/** Why queries cannot run at the moment. */
	fault: v.nullable(failureDataSchema),
	/** Message for the user about the index. */
	remark: v.nullable(v.string()),
};

export const queryEventSchema = v.variant('type', [
	v.object({
		type: v.literal('snapshot'),
		...overview,
		answer: v.nullable(answerSchema),
		/** Id of the query in progress. */
		busy: v.nullable(count),
		/** A query from outside the panel, such as from a command. */
		wanted: v.nullable(v.object({ sql: v.nullable(statement), runs: v.nullable(v.array(path)) })),
		/** Executed statements, newest first. */
		history: v.array(v.string()),
	}),
	v.object({ type: v.literal('overview'), ...overview }),
	v.object({ type: v.literal('hits'), id: count, hits: v.array(textHitSchema), bytes: count, total: count }),
]);
export type QueryEvent = v.InferOutput<typeof queryEventSchema>;

export const queryCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	/** Cancels the query with this id. */
	v.object({ type: v.literal('cancel'), id: count }),
	/** Prompts for a folder with runs. */
	v.object({ type: v.literal('addRuns') }),
	/** An error in the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type QueryCommand = v.InferOutput<typeof queryCommandSchema>;

const done = v.object({});

export const queryRequests = {
	/** Runs a statement. The panel keeps the result until the next query. */
	run: {
		params: v.object({ id: count, question: questionSchema, statement, limit: v.pipe(count, v.maxValue(maxRows)) }),
		result: resultTableSchema,
	},
	/** Runs an auxiliary statement, such as for a histogram of the result. */
	side: {
		params: v.object({ id: count, statement, limit: v.pipe(count, v.maxValue(maxRows)) }),
		result: resultTableSchema,
	},
	/** Searches text; hits arrive as events with the same id. */
	search: { params: v.object({ id: count, question: questionSchema }), result: searchEndSchema },
	/** Prompts for a file name and writes the full result of a statement. */
	export: {
		params: v.object({ id: count, statement, format: v.picklist(tableExports), name: v.string() }),
		result: v.object({ saved: v.boolean(), rows: count, bytes: count }),
	},
	/** Prompts for a file name and writes the text (hits as CSV). */
	save: {
		params: v.object({ name: v.string(), text: v.pipe(v.string(), v.maxLength(64 << 20)) }),
		result: v.object({ saved: v.boolean() }),
	},
	/** Opens a rollout in the rollouts panel. */
	open: { params: v.object({ ref: rolloutRefSchema }), result: done },
} as const;

/** State that the panel's view saves. All other fields are private to the view. */
export const queryStateSchema = v.looseObject({ view: v.literal('query') });
