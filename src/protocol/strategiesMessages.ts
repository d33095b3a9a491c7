import * as v from 'valibot';
import { comparisonSummarySchema } from './strategyComparison.ts';

/*
 * Messages between the strategy comparison view (webview/strategies) and its panel. The panel follows the summary in
 * the folder, and the view renders it.
 */

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Panel -> view. */
export const strategiesEventSchema = v.variant('type', [
	v.object({
		type: v.literal('summary'),
		/** Folder of the comparison; the view displays and stores it but never opens it. */
		folder: v.string(),
		summary: comparisonSummarySchema,
		/** Which process is working on the comparison, if any. `own` is a process in this window, which can stop it. */
		running: v.picklist(['own', 'other', 'no']),
		/** true if it can be continued (trusted workspace, incomplete); otherwise the reason it cannot. */
		canGoOn: v.union([v.literal(true), v.string()]),
	}),
	/** Nothing can be shown; `message` explains why. */
	v.object({ type: v.literal('failure'), folder: v.string(), message: v.string(), action: v.nullable(v.string()) }),
]);
export type StrategiesEvent = v.InferOutput<typeof strategiesEventSchema>;

/** View -> panel. */
export const strategiesCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	v.object({ type: v.literal('stop') }),
	v.object({ type: v.literal('goOn') }),
	v.object({ type: v.literal('choose') }),
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type StrategiesCommand = v.InferOutput<typeof strategiesCommandSchema>;

/** Result of one search at a point. */
export const searchRowSchema = v.object({
	problem: whole,
	/** Truncated prompt; for episodes, with the other columns of the row. */
	prompt: v.string(),
	/** Reward of the chosen episode; null if it has none, or if the problem is a question. */
	reward: v.nullable(v.number()),
	gold: v.nullable(v.string()),
	answer: v.nullable(v.string()),
	correct: v.nullable(v.picklist([0, 1])),
	any: v.nullable(v.picklist([0, 1])),
	tokens: v.number(),
	nodes: v.number(),
	stop: v.string(),
	failed: v.nullable(v.string()),
});
export type SearchRow = v.InferOutput<typeof searchRowSchema>;

/** Maximum number of rows per response. */
export const maxSearchRows = 200;

export const strategiesRequests = {
	/** Returns the searches for a point in `results.jsonl`, in problem order. */
	searches: {
		params: v.object({
			point: v.string(),
			/** Which searches to return: all, correct or incorrect. */
			which: v.picklist(['all', 'right', 'wrong']),
			from: whole,
		}),
		result: v.object({ rows: v.array(searchRowSchema), total: whole }),
	},
	/** Opens a search's tree. */
	open: { params: v.object({ point: v.string(), problem: whole }), result: v.object({}) },
	copy: { params: v.object({ text: v.pipe(v.string(), v.maxLength(1 << 20)) }), result: v.object({}) },
} as const;

/** State that the view keeps across reloads. */
export const strategiesStateSchema = v.object({
	folder: v.string(),
	view: v.optional(v.picklist(['accuracy', 'curves']), 'accuracy'),
	/** null for all problems. */
	band: v.optional(v.nullable(whole), null),
	sort: v.optional(v.object({ by: v.string(), down: v.boolean() }), { by: '', down: false }),
	/** The point whose searches are listed, or null. */
	selected: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(40))), null),
});
export type StrategiesState = v.InferOutput<typeof strategiesStateSchema>;
