import * as v from 'valibot';
import { rolloutSplits } from './rolloutSplit.ts';

/** The user's rating of a whole completion; 5 is best. */
export const completionRatings = [1, 2, 3, 4, 5] as const;
export type CompletionRating = (typeof completionRatings)[number];

/** Which of two completions the user prefers. */
export const preferenceChoices = ['a', 'b', 'equal'] as const;
export type PreferenceChoice = (typeof preferenceChoices)[number];

/**
 * Maximum length of text stored with feedback. The text is stored so that feedback outlives rollouts that are pruned or
 * rewritten.
 */
export const longestFeedbackText = 1_000_000;

const rated = {
	split: v.picklist(rolloutSplits),
	step: v.number(),
	group: v.number(),
	index: v.number(),
	completion: v.string(),
	/** Reward in the run; null if there was none. */
	reward: v.nullable(v.number()),
};
const common = {
	format: v.literal(1),
	/** Seconds since the epoch. */
	time: v.number(),
	/** Rater name, from the setting or the operating system. */
	rater: v.string(),
	prompt: v.string(),
};

/** A line in annotations/feedback.jsonl. A later line by the same rater on the same completions replaces it. */
export const feedbackSchema = v.variant('kind', [
	/** null if the rating was cleared. */
	v.looseObject({
		kind: v.literal('rating'),
		...common,
		...rated,
		rating: v.nullable(v.picklist(completionRatings)),
	}),
	/** Two completions for the same prompt, in any order. */
	v.looseObject({
		kind: v.literal('preference'),
		...common,
		a: v.object(rated),
		b: v.object(rated),
		choice: v.nullable(v.picklist(preferenceChoices)),
	}),
]);
export type Feedback = v.InferOutput<typeof feedbackSchema>;
export type PreferenceFeedback = Extract<Feedback, { kind: 'preference' }>;
export type RatedCompletion = PreferenceFeedback['a'];
