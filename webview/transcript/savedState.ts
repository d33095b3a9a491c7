import * as v from 'valibot';
import { transcriptPlaceSchema } from '../../src/protocol/transcriptMessages.ts';

const index = v.pipe(v.number(), v.integer(), v.minValue(0));

/** State that survives a reload of the window: selection and expanded messages, never text. */
export const savedStateSchema = v.object({
	place: transcriptPlaceSchema,
	/** Which conversation of the file. */
	conversation: index,
	/** Messages that are open; at most a few hundred are kept. */
	open: v.pipe(v.array(index), v.maxLength(500)),
	selected: v.nullable(index),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;
