import * as v from 'valibot';
import { treeStateSchema } from '../../src/protocol/treeMessages.ts';
import { layoutKinds } from './layout/layout.ts';
import { nodeFilters } from './nodeFilter.ts';
import { colorings } from './nodeMeasures.ts';

const id = v.pipe(v.number(), v.integer(), v.minValue(0));

/** State preserved when the window reloads: tree, settings and selection, but no text. */
export const savedStateSchema = v.object({
	...treeStateSchema.entries,
	options: v.pipe(
		// Earlier versions saved `colouring`.
		v.looseObject({}),
		v.transform(({ colouring, ...options }) => ({ coloring: colouring, ...options })),
		v.object({
			layout: v.nullable(v.picklist(layoutKinds)),
			coloring: v.nullable(v.picklist(colorings)),
			detail: v.union([v.literal('automatic'), v.literal('all'), id]),
			filter: v.picklist(nodeFilters),
			widths: v.boolean(),
			timeUnit: v.picklist(['seconds', 'events']),
			minimap: v.boolean(),
		}),
	),
	selected: v.nullable(id),
	/** Nodes expanded or collapsed by the user, as pairs of node ID and expanded state. */
	chosen: v.pipe(v.array(v.tuple([id, v.boolean()])), v.maxLength(500)),
	tab: v.pipe(v.string(), v.maxLength(20)),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;
