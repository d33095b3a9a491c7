import type { RewardEntry } from '../../protocol/builtInRewards.ts';
import { normalizeAnswer } from '../dataset/answer.ts';
import type { TraceTags } from '../trace/trace.ts';
import { answerOf, goldTexts, type RewardSample } from './rewardSample.ts';

type Options = Pick<RewardEntry<'exact-match'>, 'column' | 'ignoreCase'>;

/**
 * 1 when the answer is a gold text, 0 when it is not or there is none; null without a gold value. White space and the form
 * of decimal numbers are evened out on both sides, nothing else.
 */
export function exactMatchReward(sample: RewardSample, options: Options, tags: TraceTags): number | null {
	const gold = goldTexts(sample, options.column);
	if (gold.length === 0) return null;
	const answer = answerOf(sample, tags);
	if (answer === null) return 0;
	const plain = (text: string) => (options.ignoreCase ? normalizeAnswer(text).toLowerCase() : normalizeAnswer(text));
	return gold.some((text) => plain(text) === plain(answer)) ? 1 : 0;
}
