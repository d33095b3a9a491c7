import * as v from 'valibot';
import {
	columnMappingSchema,
	noFilter,
	rowFilterSchema,
	rowSortSchema,
	shareSchema,
} from '../../src/protocol/datasetMessages.ts';

export const sides = ['row', 'statistics', 'columns', 'tests'] as const;
export type Side = (typeof sides)[number];

/** What outlives the window: how it is shown and which rows, never data. */
export const savedStateSchema = v.object({
	view: v.literal('dataset'),
	side: v.picklist(sides),
	/** Widths of columns that a person set, by name, in CSS pixels. */
	widths: v.record(v.string(), v.number()),
	filter: v.fallback(rowFilterSchema, noFilter),
	sort: v.fallback(v.nullable(rowSortSchema), null),
	/** Chosen by the person; null: as it was guessed. */
	mapping: v.fallback(v.nullable(columnMappingSchema), null),
	/** Of the rows that are held out; null: as it was. */
	share: v.fallback(v.nullable(shareSchema), null),
	/** The row that is looked at: its place in the file. */
	row: v.fallback(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0))), null),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;

export const firstState: SavedState = {
	view: 'dataset',
	side: 'statistics',
	widths: {},
	filter: noFilter,
	sort: null,
	mapping: null,
	share: null,
	row: null,
};
