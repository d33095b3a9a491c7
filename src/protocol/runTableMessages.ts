import * as v from 'valibot';
import { comparedRuns } from './comparedRuns.ts';
import { runStatuses } from './runRecord.ts';

/*
 * Messages between the run table panel and its webview, in the envelope of webviewMessages.ts. The panel responds to
 * `ready` with all rows and the data known so far, then resends rows when their recipes and metrics have been read or
 * their runs change. Every event is self-contained.
 */

const path = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));
const text = v.pipe(v.string(), v.maxLength(400));
const scalar = v.union([v.number(), v.boolean(), text, v.null()]);

/** The value of a recipe key. */
export type RecipeScalar = v.InferOutput<typeof scalar>;

export const runTableRowSchema = v.object({
	/** Identifies the run. */
	folder: path,
	name: text,
	project: text,
	/** Whether the run belongs to the workspace. */
	own: v.boolean(),
	status: v.picklist([...runStatuses, 'unreadable']),
	/** Trainer name. */
	engine: text,
	step: v.nullable(v.number()),
	/** Seconds since the epoch. */
	created: v.nullable(v.number()),
	tags: v.array(text),
	/** Latest value of each metric. */
	metrics: v.record(v.string(), v.number()),
	/** Recipe values by path, such as `stages[1].learning_rate`. */
	recipe: v.record(v.string(), scalar),
});
export type RunTableRow = v.InferOutput<typeof runTableRowSchema>;

export const runTableEventSchema = v.variant('type', [
	/** Replaces all rows. `pending` is the number of rows whose recipe and metrics are still being read. */
	v.object({ type: v.literal('rows'), rows: v.array(runTableRowSchema), pending: v.number() }),
	/** Replaces or adds some rows, and removes others. */
	v.object({
		type: v.literal('changes'),
		rows: v.array(runTableRowSchema),
		removed: v.array(path),
		pending: v.number(),
	}),
]);
export type RunTableEvent = v.InferOutput<typeof runTableEventSchema>;

export const runTableCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	v.object({ type: v.literal('open'), folder: path }),
	v.object({
		type: v.literal('compare'),
		folders: v.pipe(v.array(path), v.minLength(comparedRuns.min), v.maxLength(comparedRuns.max)),
	}),
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type RunTableCommand = v.InferOutput<typeof runTableCommandSchema>;

export const runTableRequests = {} as const;
