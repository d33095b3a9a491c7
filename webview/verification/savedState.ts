import * as v from 'valibot';
import { resultPartSchema, resultPlaceSchema } from '../../src/protocol/verificationMessages.ts';
import { rowFiltersSchema } from './rowFilters.ts';
import { comparedOrders, verifiedOrders } from './rowOrder.ts';

export const outcomes = ['all', 'finding', 'held', 'skipped', 'error'] as const;
export const groupOrders = ['narrow', 'wide', 'mean', 'list'] as const;
export type GroupOrder = (typeof groupOrders)[number];

/** State preserved when the window reloads: filters and selection, but no data. */
export const savedStateSchema = v.object({
	place: resultPlaceSchema,
	part: v.nullable(resultPartSchema),
	filters: rowFiltersSchema,
	order: v.picklist([...verifiedOrders, ...comparedOrders]),
	groupOrder: v.picklist(groupOrders),
	outcome: v.picklist(outcomes),
	/** Index of the open row. */
	row: v.nullable(v.number()),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;
