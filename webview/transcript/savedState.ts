import * as v from 'valibot';
import { transcriptPlaceSchema } from '../../src/protocol/transcriptMessages.ts';

const index = v.pipe(v.number(), v.integer(), v.minValue(0));

/** State preserved when the window reloads: selection and expanded messages, but no text. */
export const savedStateSchema = v.object({
	place: transcriptPlaceSchema,
	/** Index of the selected conversation in the file. */
	conversation: index,
	/** Expanded messages. Only a few hundred are saved. */
	open: v.pipe(v.array(index), v.maxLength(500)),
	selected: v.nullable(index),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;
