import * as v from 'valibot';

/** State restored after a window reload. */
export const savedStateSchema = v.object({
	folder: v.pipe(v.string(), v.maxLength(4096)),
	/** Whether loop rounds are collapsed. */
	folded: v.boolean(),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;
