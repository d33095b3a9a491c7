import type { Feedback } from '../../protocol/feedback.ts';
import { type Estimate, shareInterval } from '../evaluation/meanInterval.ts';
import { completionKey, judgedPairs } from './judgedPairs.ts';
import { ordinalAlpha } from './krippendorff.ts';

export interface FeedbackAgreement {
	/** Raters, most active first. */
	readonly raters: readonly { readonly name: string; readonly ratings: number; readonly preferences: number }[];
	/** Number of rated completions. */
	readonly rated: number;
	/** Number of completions rated by at least two people, and their agreement (null if it cannot be computed). */
	readonly shared: number;
	readonly alpha: number | null;
	/** Number of decided and undecided pairs. */
	readonly pairs: number;
	readonly undecided: number;
	/**
	 * Among pairs with different rewards, the fraction in which the preferred completion has the higher reward. null if
	 * there are no such pairs.
	 */
	readonly reward: { readonly pairs: number; readonly share: Estimate } | null;
	/** Number of pairs with equal rewards, where people see a difference that the reward does not. */
	readonly blind: number;
}

/** Computes how well raters agree with each other and with the run's rewards. */
export function feedbackAgreement(feedback: readonly Feedback[]): FeedbackAgreement {
	const raters = new Map<string, { ratings: number; preferences: number }>();
	const byCompletion = new Map<string, number[]>();
	for (const one of feedback) {
		const counts = raters.get(one.rater) ?? { ratings: 0, preferences: 0 };
		if (one.kind === 'rating' && one.rating !== null) {
			counts.ratings++;
			const key = completionKey(one);
			byCompletion.set(key, [...(byCompletion.get(key) ?? []), one.rating]);
		} else if (one.kind === 'preference' && one.choice !== null) counts.preferences++;
		else continue;
		raters.set(one.rater, counts);
	}
	const { pairs, undecided } = judgedPairs(feedback);
	const rewarded = pairs.filter(({ chosen, rejected }) => chosen.reward !== null && rejected.reward !== null);
	const unequal = rewarded.filter(({ chosen, rejected }) => chosen.reward !== rejected.reward);
	const right = unequal.filter(
		({ chosen, rejected }) => (chosen.reward as number) > (rejected.reward as number),
	).length;
	const units = [...byCompletion.values()];
	return {
		raters: [...raters]
			.map(([name, counts]) => ({ name, ...counts }))
			.sort((a, b) => b.ratings + b.preferences - a.ratings - a.preferences || (a.name < b.name ? -1 : 1)),
		rated: units.length,
		shared: units.filter((ratings) => ratings.length > 1).length,
		alpha: ordinalAlpha(units),
		pairs: pairs.length,
		undecided,
		reward: unequal.length === 0 ? null : { pairs: unequal.length, share: shareInterval(right, unequal.length) },
		blind: rewarded.length - unequal.length,
	};
}
