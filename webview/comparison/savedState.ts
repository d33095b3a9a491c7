import * as v from 'valibot';
import { overlayAxes } from '../../src/core/comparison/overlay.ts';
import { comparisonStateSchema } from '../../src/protocol/runComparisonMessages.ts';

export const tabs = ['curves', 'heldOut', 'recipes', 'prompts'] as const;
export type Tab = (typeof tabs)[number];

const index = v.pipe(v.number(), v.integer(), v.minValue(0));

/** State restored after a window reload: runs and settings, but no data. */
export const savedStateSchema = v.object({
	folders: comparisonStateSchema.entries.folders,
	tab: v.picklist(tabs),
	axis: v.picklist(overlayAxes),
	/** EMA weight, 0 to 1. */
	smoothing: v.pipe(v.number(), v.minValue(0), v.maxValue(0.999)),
	/** Indices of hidden runs. */
	hidden: v.array(index),
	/** Index of the baseline run. */
	baseline: index,
	filter: v.pipe(v.string(), v.maxLength(1000)),
	/** Whether runs that differ only in their seed are drawn as one line. */
	grouped: v.optional(v.boolean(), true),
	/** Charts whose axis type was changed from the metric's default. */
	logToggled: v.pipe(v.array(v.string()), v.maxLength(400)),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;
