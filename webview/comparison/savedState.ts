import * as v from 'valibot';
import { overlayAxes } from '../../src/core/comparison/overlay.ts';
import { comparisonStateSchema } from '../../src/protocol/runComparisonMessages.ts';

export const tabs = ['curves', 'heldOut', 'recipes', 'prompts'] as const;
export type Tab = (typeof tabs)[number];

const index = v.pipe(v.number(), v.integer(), v.minValue(0));

/** What outlives the window: which runs and how they were shown, never their data. */
export const savedStateSchema = v.object({
	folders: comparisonStateSchema.entries.folders,
	tab: v.picklist(tabs),
	axis: v.picklist(overlayAxes),
	/** Weight of the past, 0 to 1. */
	smoothing: v.pipe(v.number(), v.minValue(0), v.maxValue(0.999)),
	/** Runs whose curves are off. */
	hidden: v.array(index),
	/** The run that the others are compared with. */
	baseline: index,
	filter: v.pipe(v.string(), v.maxLength(1000)),
	/** Charts whose axis is another than their metric asks for. */
	logToggled: v.pipe(v.array(v.string()), v.maxLength(400)),
});
export type SavedState = v.InferOutput<typeof savedStateSchema>;
