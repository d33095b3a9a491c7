import * as v from 'valibot';

export const sides = ['row', 'statistics', 'columns', 'tests'] as const;
export type Side = (typeof sides)[number];

/** What outlives the window: how it is shown, never data. */
export const savedStateSchema = v.object({
	view: v.literal('dataset'),
	side: v.picklist(sides),
	/** Widths of columns that a person set, by name, in CSS pixels. */
	widths: v.record(v.string(), v.number()),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;

export const firstState: SavedState = { view: 'dataset', side: 'statistics', widths: {} };
