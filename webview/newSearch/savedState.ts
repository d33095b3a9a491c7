import * as v from 'valibot';
import { searchDraftSchema } from '../../src/protocol/newSearchMessages.ts';

/** User input, restored after a window reload. */
export const savedStateSchema = v.object({
	draft: searchDraftSchema,
	/** Text of changed settings, which may be invalid. */
	params: v.record(v.string(), v.string()),
	sampling: v.record(v.string(), v.string()),
	search: v.record(v.string(), v.string()),
	/** Text of a custom budget; null if the budget was chosen from the list. */
	budget: v.nullable(v.string()),
	/** Turn limit as entered; null for the environment's limit. */
	turns: v.optional(v.nullable(v.string()), null),
	more: v.boolean(),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;
