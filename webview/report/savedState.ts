import * as v from 'valibot';

/** State restored after a window reload. */
export const savedStateSchema = v.object({ path: v.pipe(v.string(), v.maxLength(4096)) });
export type SavedState = v.InferOutput<typeof savedStateSchema>;
