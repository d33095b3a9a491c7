import * as v from 'valibot';
import { failureDataSchema } from './failureData.ts';

/** A line printed by the program that reads Hub datasets: its progress, its result, or why it failed. */
export const hubRowsLineSchema = v.union([
	v.object({ failure: failureDataSchema }),
	/** `whole`: the program is done and has read all rows in the split, or as many as requested. */
	v.object({ rows: v.pipe(v.number(), v.integer(), v.minValue(0)), whole: v.optional(v.boolean()) }),
]);
