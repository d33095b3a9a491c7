import * as v from 'valibot';
import { filtersSchema } from './filters.ts';
import { groupOrders, rowOrders } from './order.ts';

export const layouts = ['auto', 'grid', 'columns', 'stacked'] as const;
export type Layout = (typeof layouts)[number];
export const tokenViews = ['off', 'logprob', 'entropy'] as const;
export type TokenView = (typeof tokenViews)[number];

/** What outlives the window: where one was and how it was shown, never data. */
export const savedStateSchema = v.object({
	runFolder: v.pipe(v.string(), v.minLength(1)),
	step: v.nullable(v.number()),
	group: v.nullable(v.number()),
	index: v.nullable(v.number()),
	follow: v.boolean(),
	filters: filtersSchema,
	rowOrder: v.picklist(rowOrders),
	groupOrder: v.picklist(groupOrders),
	layout: v.picklist(layouts),
	tokenView: v.picklist(tokenViews),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;
