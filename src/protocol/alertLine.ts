import * as v from 'valibot';
import { alertSchema } from './alert.ts';

const at = { format: v.literal(1), time: v.number() };

/** A line in annotations/alerts.jsonl. Later lines take precedence. Lines can come from any window or process. */
export const alertLineSchema = v.variant('type', [
	/**
	 * Starts a diagnosis from the beginning of the run. Earlier alerts become obsolete, but the user's dismissals remain
	 * valid.
	 */
	v.looseObject({ ...at, type: v.literal('begin') }),
	/** Current state of an alert. Replaces earlier lines with the same id. */
	v.looseObject({ ...at, type: v.literal('alert'), alert: alertSchema }),
	/** Marks the file as complete for the run's current state (see src/runs/alertLog.ts). */
	v.looseObject({
		...at,
		type: v.literal('diagnosed'),
		of: v.string(),
		/**
		 * Number of batches inspected, or of rows in stages without sampling. Absent in files written before this field
		 * existed.
		 */
		batches: v.optional(v.number()),
		unsampled: v.optional(v.number()),
	}),
	/** The user has dismissed the alert, so it must not be shown again. */
	v.looseObject({ ...at, type: v.literal('dismissed'), id: v.string() }),
	v.looseObject({ ...at, type: v.literal('restored'), id: v.string() }),
]);
export type AlertLine = v.InferOutput<typeof alertLineSchema>;
