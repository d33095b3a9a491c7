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

/** State restored after a window reload: settings and row numbers, but no data. */
export const savedStateSchema = v.object({
	view: v.literal('dataset'),
	side: v.picklist(sides),
	/** Column widths set by the user, in CSS pixels, keyed by column name. */
	widths: v.record(v.string(), v.number()),
	filter: v.fallback(rowFilterSchema, noFilter),
	sort: v.fallback(v.nullable(rowSortSchema), null),
	/** Mapping set by the user; null if it was detected automatically. */
	mapping: v.fallback(v.nullable(columnMappingSchema), null),
	/** Held-out share; null if unchanged. */
	share: v.fallback(v.nullable(shareSchema), null),
	/** Position of the open row in the file. */
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
