import * as v from 'valibot';
import { comparisonSummarySchema } from './strategyComparison.ts';

/*
 * Messages between the view of a comparison of strategies (webview/strategies) and its panel. The panel follows the folder's
 * summary; the view draws it.
 */

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Panel -> view. */
export const strategiesEventSchema = v.variant('type', [
	v.object({
		type: v.literal('summary'),
		/** Where the comparison lies; shown and kept, never opened by the view. */
		folder: v.string(),
		summary: comparisonSummarySchema,
		/** A process works on it now; `own`: one of this window, which can stop it. */
		running: v.picklist(['own', 'other', 'no']),
		/** It can continue (trusted workspace, not whole); a text: why not. */
		canGoOn: v.union([v.literal(true), v.string()]),
	}),
	/** There is nothing to show, and why. */
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

/** What one search of a point came to. */
export const searchRowSchema = v.object({
	problem: whole,
	/** Cut. */
	prompt: v.string(),
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

/** Rows of one answer at most. */
export const maxSearchRows = 200;

export const strategiesRequests = {
	/** Searches of a point of `results.jsonl`, in the order of their problems. */
	searches: {
		params: v.object({
			point: v.string(),
			/** Which: all, those that are right, those that are wrong. */
			which: v.picklist(['all', 'right', 'wrong']),
			from: whole,
		}),
		result: v.object({ rows: v.array(searchRowSchema), total: whole }),
	},
	/** Opens the tree of a search. */
	open: { params: v.object({ point: v.string(), problem: whole }), result: v.object({}) },
	copy: { params: v.object({ text: v.pipe(v.string(), v.maxLength(1 << 20)) }), result: v.object({}) },
} as const;

/** What the view keeps over a reload. */
export const strategiesStateSchema = v.object({
	folder: v.string(),
	view: v.optional(v.picklist(['accuracy', 'curves']), 'accuracy'),
	/** null: all problems. */
	band: v.optional(v.nullable(whole), null),
	sort: v.optional(v.object({ by: v.string(), down: v.boolean() }), { by: '', down: false }),
	/** The point whose searches are listed; null: none. */
	selected: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(40))), null),
});
export type StrategiesState = v.InferOutput<typeof strategiesStateSchema>;
