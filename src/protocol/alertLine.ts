import * as v from 'valibot';
import { alertSchema } from './alert.ts';

const at = { format: v.literal(1), time: v.number() };

/**
 * One line of annotations/alerts.jsonl; later lines count. Lines that are read may come from any window and process.
 */
export const alertLineSchema = v.variant('type', [
	/** A diagnosis from the start of the run: the alerts of before no longer count. What a person said of them does. */
	v.looseObject({ ...at, type: v.literal('begin') }),
	/** An alert as it stands; another line with its id replaces it. */
	v.looseObject({ ...at, type: v.literal('alert'), alert: alertSchema }),
	/** What is in the file is all that there is to say of the run in this state (see src/runs/alertLog.ts). */
	v.looseObject({
		...at,
		type: v.literal('diagnosed'),
		of: v.string(),
		/** Batches that were inspected, and rows of stages that sample nothing; absent: written before this was kept. */
		batches: v.optional(v.number()),
		unsampled: v.optional(v.number()),
	}),
	/** A person no longer needs to see it, or again. */
	v.looseObject({ ...at, type: v.literal('dismissed'), id: v.string() }),
	v.looseObject({ ...at, type: v.literal('restored'), id: v.string() }),
]);
export type AlertLine = v.InferOutput<typeof alertLineSchema>;
