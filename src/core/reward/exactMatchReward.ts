import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import { normalizeAnswer } from '../dataset/answer.ts';
import type { TraceTags } from '../trace/trace.ts';
import { answerOf, goldTexts, type RewardSample } from './rewardSample.ts';

type Options = Pick<RewardEntry<'exact-match'>, 'column' | 'ignoreCase'>;

/**
 * Returns 1 if the answer matches a gold answer, 0 if it does not or is missing, and null without a gold value. Only
 * whitespace and decimal formatting are normalized, on both sides.
 */
export function exactMatchReward(sample: RewardSample, options: Options, tags: TraceTags): number | null {
	const gold = goldTexts(sample, options.column);
	if (gold.length === 0) return null;
	const answer = answerOf(sample, tags);
	if (answer === null) return 0;
	const plain = (text: string) => (options.ignoreCase ? normalizeAnswer(text).toLowerCase() : normalizeAnswer(text));
	return gold.some((text) => plain(text) === plain(answer)) ? 1 : 0;
}
