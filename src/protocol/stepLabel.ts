import * as v from 'valibot';
import { rolloutSplits } from './rolloutSplit.ts';

/** A user's rating of a reasoning step, as in PRM800K: wrong, neutral, correct. */
export const stepRatings = [-1, 0, 1] as const;
export type StepRating = (typeof stepRatings)[number];

/**
 * One line of annotations/labels.jsonl with the labels for one rollout; a later line for the same rollout replaces it.
 * The step text is stored too, so that labels survive when rollouts are pruned or rewritten.
 */
export const rolloutLabelsSchema = v.looseObject({
	format: v.literal(1),
	time: v.number(),
	split: v.picklist(rolloutSplits),
	step: v.number(),
	group: v.number(),
	index: v.number(),
	prompt: v.string(),
	answer: v.nullable(v.string()),
	/** How the completion was split into steps: see src/core/trace/splitSteps.ts. */
	rule: v.string(),
	steps: v.array(v.object({ text: v.string(), rating: v.nullable(v.picklist(stepRatings)) })),
});
export type RolloutLabels = v.InferOutput<typeof rolloutLabelsSchema>;
