import * as v from 'valibot';
import { rolloutSplits } from '../../src/protocol/rolloutSplit.ts';
import { placeSchema, tokenValues } from '../../src/protocol/rolloutsMessages.ts';
import { filtersSchema } from './filters.ts';
import { keptContinuationsSchema } from './keptContinuations.ts';
import { groupOrders, rowOrders } from './order.ts';
import { markKinds } from './textMarks.ts';

export const layouts = ['auto', 'grid', 'columns', 'stacked'] as const;
export type Layout = (typeof layouts)[number];
export const tokenViews = ['off', ...tokenValues] as const;
export type TokenView = (typeof tokenViews)[number];

/**
 * View modes: one group, two completions, one prompt over training, behaviors over training, or one completion to label
 * or continue.
 */
export const modes = ['group', 'compare', 'training', 'behaviors', 'label', 'continue'] as const;
export type Mode = (typeof modes)[number];

/** Converts a saved name to its current spelling; earlier versions saved British spellings. */
const written = v.pipe(
	v.string(),
	v.transform((name) => name.replace('behaviour', 'behavior')),
);

/** State preserved when the window reloads: location, settings, and unsent or generated text. */
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
	mode: v.optional(v.pipe(written, v.picklist(modes)), 'group'),
	split: v.optional(v.picklist(rolloutSplits), 'train'),
	/** Enabled highlights. */
	marks: v.optional(v.pipe(v.array(v.pipe(written, v.picklist(markKinds))), v.maxLength(100)), []),
	/** Completions being compared. */
	pair: v.optional(v.pipe(v.array(placeSchema), v.maxLength(2)), []),
	/** Completion being labeled or continued. */
	one: v.optional(v.nullable(placeSchema), null),
	/** State of *Continue from Here*. If invalid, only this part is discarded. */
	continued: v.fallback(keptContinuationsSchema, { drafts: [], made: [] }),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;
/** Location and settings. */
export type KeptView = Omit<SavedState, 'continued'>;
