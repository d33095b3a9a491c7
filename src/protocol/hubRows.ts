import * as v from 'valibot';

/** A line that the program which reads datasets of the hub prints: how far it is, how it ended, or why it could not. */
export const hubRowsLineSchema = v.union([
	v.object({ failure: v.object({ reason: v.string(), message: v.string(), action: v.optional(v.string()) }) }),
	/** `whole`: it has ended, and these are all rows of the split, or as many as were asked for. */
	v.object({ rows: v.pipe(v.number(), v.integer(), v.minValue(0)), whole: v.optional(v.boolean()) }),
]);
