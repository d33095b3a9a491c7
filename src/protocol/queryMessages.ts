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
 * Messages between the query panel and its webview, in the envelope of webviewMessages.ts. The webview says `ready` when it
 * has (re)started and is answered with a `snapshot`, which holds the last answer as well: a question is not asked again
 * because its view was hidden.
 */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const path = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));

/** Rows that a table shows at most; an export has all of them. */
export const maxRows = 10_000;
/** Hits of a search that are shown at most. */
export const maxHits = 2000;
/** Characters of a statement. */
export const longestStatement = 100_000;
const statement = v.pipe(v.string(), v.maxLength(longestStatement));

export const queryRunSchema = v.object({
	folder: path,
	/** What people call it. */
	name: v.string(),
	/** `reasoning-lab`, or the format of another trainer. */
	format: v.string(),
	/** null: the index has not told of it yet. */
	progress: v.nullable(indexProgressSchema),
});
export type QueryRun = v.InferOutput<typeof queryRunSchema>;

export const sortSchema = v.object({ column: v.string(), descending: v.boolean() });
export type Sort = v.InferOutput<typeof sortSchema>;

/** What a person asked, as it was meant; `statement` is what the lab is asked. */
export const questionSchema = v.variant('kind', [
	v.object({
		kind: v.literal('sql'),
		/** Without the order that a click on a column adds. */
		sql: statement,
		sort: v.nullable(sortSchema),
	}),
	v.object({ kind: v.literal('search'), query: textQuerySchema, filter: rolloutFilterSchema }),
]);
export type Question = v.InferOutput<typeof questionSchema>;
export type SqlQuestion = Extract<Question, { kind: 'sql' }>;
export type SearchQuestion = Extract<Question, { kind: 'search' }>;

/** How a search ended. */
export const searchEndSchema = v.object({
	hits: count,
	/** false: the limit of hits, or one in `limits`, ended it. */
	complete: v.boolean(),
	bytes: count,
	millis: v.number(),
	limits: v.array(v.string()),
});
export type SearchEnd = v.InferOutput<typeof searchEndSchema>;

/** The answer to a question, as far as it is there. */
export const answerSchema = v.variant('kind', [
	v.object({ kind: v.literal('table'), question: questionSchema, table: resultTableSchema }),
	v.object({
		kind: v.literal('hits'),
		question: questionSchema,
		hits: v.array(textHitSchema),
		/** null: it continues, or was cancelled. */
		end: v.nullable(searchEndSchema),
	}),
	v.object({ kind: v.literal('failure'), question: questionSchema, failure: failureDataSchema }),
]);
export type Answer = v.InferOutput<typeof answerSchema>;

const overview = {
	runs: v.array(queryRunSchema),
	/** Names of reward components that the index knows. */
	components: v.array(v.string()),
	/** Why nothing can be asked now. */
	fault: v.nullable(failureDataSchema),
	/** What a person should know of the index. */
	remark: v.nullable(v.string()),
};

export const queryEventSchema = v.variant('type', [
	v.object({
		type: v.literal('snapshot'),
		...overview,
		answer: v.nullable(answerSchema),
		/** Number of the question that is being answered. */
		busy: v.nullable(count),
		/** A question that somebody else put, such as a command. */
		wanted: v.nullable(v.object({ sql: v.nullable(statement), runs: v.nullable(v.array(path)) })),
		/** Statements that were run, the newest first. */
		history: v.array(v.string()),
	}),
	v.object({ type: v.literal('overview'), ...overview }),
	v.object({ type: v.literal('hits'), id: count, hits: v.array(textHitSchema), bytes: count, total: count }),
]);
export type QueryEvent = v.InferOutput<typeof queryEventSchema>;

export const queryCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	/** The question of this number is no longer of interest. */
	v.object({ type: v.literal('cancel'), id: count }),
	/** Asks for a folder with runs. */
	v.object({ type: v.literal('addRuns') }),
	/** A fault of the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type QueryCommand = v.InferOutput<typeof queryCommandSchema>;

const done = v.object({});

export const queryRequests = {
	/** Runs a statement; its answer is the panel's until the next question. */
	run: {
		params: v.object({ id: count, question: questionSchema, statement, limit: v.pipe(count, v.maxValue(maxRows)) }),
		result: resultTableSchema,
	},
	/** Runs a statement beside that answer, such as a histogram of it. */
	side: {
		params: v.object({ id: count, statement, limit: v.pipe(count, v.maxValue(maxRows)) }),
		result: resultTableSchema,
	},
	/** Goes through texts; hits come as events of the same number. */
	search: { params: v.object({ id: count, question: questionSchema }), result: searchEndSchema },
	/** Asks for a file name and writes the whole result of a statement. */
	export: {
		params: v.object({ id: count, statement, format: v.picklist(tableExports), name: v.string() }),
		result: v.object({ saved: v.boolean(), rows: count, bytes: count }),
	},
	/** Asks for a file name and writes the text: hits as CSV. */
	save: {
		params: v.object({ name: v.string(), text: v.pipe(v.string(), v.maxLength(64 << 20)) }),
		result: v.object({ saved: v.boolean() }),
	},
	/** Opens the rollouts panel at a rollout. */
	open: { params: v.object({ ref: rolloutRefSchema }), result: done },
} as const;

/** What the panel's view saves. The rest of it is the view's own. */
export const queryStateSchema = v.looseObject({ view: v.literal('query') });
