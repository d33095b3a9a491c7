import * as v from 'valibot';
import { runGroupings } from '../../src/core/runTable/runGroups.ts';

const id = v.pipe(v.string(), v.maxLength(400));

/** State restored after a window reload: settings, but no rows. */
export const savedStateSchema = v.object({
	/** Visible columns in order; null for the default columns. */
	columns: v.nullable(v.pipe(v.array(id), v.maxLength(400))),
	sort: v.nullable(v.object({ column: id, descending: v.boolean() })),
	filter: v.pipe(v.string(), v.maxLength(1000)),
	grouping: v.picklist(runGroupings),
	/** Keys of expanded groups. */
	expanded: v.pipe(v.array(v.pipe(v.string(), v.maxLength(20_000))), v.maxLength(400)),
	/** Whether runs in other folders are shown. */
	others: v.boolean(),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;

export const initialState: SavedState = {
	columns: null,
	sort: { column: 'created', descending: true },
	filter: '',
	grouping: 'none',
	expanded: [],
	others: false,
};
