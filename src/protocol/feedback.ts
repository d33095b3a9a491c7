import * as v from 'valibot';
import { rolloutSplits } from './rolloutSplit.ts';

/** A person's rating of a whole completion, the best is 5. */
export const completionRatings = [1, 2, 3, 4, 5] as const;
export type CompletionRating = (typeof completionRatings)[number];

/** Which of two completions a person prefers. */
export const preferenceChoices = ['a', 'b', 'equal'] as const;
export type PreferenceChoice = (typeof preferenceChoices)[number];

/** Texts are kept, so that feedback outlives rollouts that are pruned or rewritten; longer ones are not kept. */
export const longestFeedbackText = 1_000_000;

const rated = {
	split: v.picklist(rolloutSplits),
	step: v.number(),
	group: v.number(),
	index: v.number(),
	completion: v.string(),
	/** What the run's rewards gave it; null: nothing. */
	reward: v.nullable(v.number()),
};
const common = {
	format: v.literal(1),
	/** Seconds since the epoch. */
	time: v.number(),
	/** Who says so, as the setting or the system names the person. */
	rater: v.string(),
	prompt: v.string(),
};

/** One line of annotations/feedback.jsonl; a later line of the same rater on the same completions replaces it. */
export const feedbackSchema = v.variant('kind', [
	/** null: taken back. */
	v.looseObject({
		kind: v.literal('rating'),
		...common,
		...rated,
		rating: v.nullable(v.picklist(completionRatings)),
	}),
	/** Two completions of one prompt, in any order. */
	v.looseObject({
		kind: v.literal('preference'),
		...common,
		a: v.object(rated),
		b: v.object(rated),
		choice: v.nullable(v.picklist(preferenceChoices)),
	}),
]);
export type Feedback = v.InferOutput<typeof feedbackSchema>;
export type RatingFeedback = Extract<Feedback, { kind: 'rating' }>;
export type PreferenceFeedback = Extract<Feedback, { kind: 'preference' }>;
export type RatedCompletion = PreferenceFeedback['a'];
