import * as v from 'valibot';
import { searchDraftSchema } from '../../src/protocol/newSearchMessages.ts';

/** What the user has entered, restored after a window reload. */
export const savedStateSchema = v.object({
	draft: searchDraftSchema,
	/** Texts of settings that were changed, which may be invalid. */
	params: v.record(v.string(), v.string()),
	sampling: v.record(v.string(), v.string()),
	search: v.record(v.string(), v.string()),
	/** Text of a budget that is being entered; null if it was chosen from the list. */
	budget: v.nullable(v.string()),
	more: v.boolean(),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;
