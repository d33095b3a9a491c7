import * as v from 'valibot';
import { placeSchema, rolloutSplits, tokenValues } from '../../src/protocol/rolloutsMessages.ts';
import { filtersSchema } from './filters.ts';
import { keptContinuationsSchema } from './keptContinuations.ts';
import { groupOrders, rowOrders } from './order.ts';
import { markKinds } from './textMarks.ts';

export const layouts = ['auto', 'grid', 'columns', 'stacked'] as const;
export type Layout = (typeof layouts)[number];
export const tokenViews = ['off', ...tokenValues] as const;
export type TokenView = (typeof tokenViews)[number];

/**
 * What of the run is looked at: a group, two completions, one prompt at all steps, how all steps reason; one completion,
 * to label its steps or to go on from it.
 */
export const modes = ['group', 'compare', 'training', 'behaviours', 'label', 'continue'] as const;
export type Mode = (typeof modes)[number];

/** What outlives the window: where one was, how it was shown, and what a person typed or had generated. */
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
	mode: v.optional(v.picklist(modes), 'group'),
	split: v.optional(v.picklist(rolloutSplits), 'train'),
	/** Kinds of marks in the texts that are shown. */
	marks: v.optional(v.pipe(v.array(v.picklist(markKinds)), v.maxLength(100)), []),
	/** Two completions that are compared. */
	pair: v.optional(v.pipe(v.array(placeSchema), v.maxLength(2)), []),
	/** The completion that is labeled or continued. */
	one: v.optional(v.nullable(placeSchema), null),
	/** Of *Continue from Here*; what does not fit is dropped alone. */
	continued: v.fallback(keptContinuationsSchema, { drafts: [], made: [] }),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;
/** Where one was and how it was shown. */
export type KeptView = Omit<SavedState, 'continued'>;
