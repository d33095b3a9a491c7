import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { RewardSample } from './rewardSample.ts';
import { lengthOf } from './textLength.ts';

type Options = Pick<
	RewardEntry<'cosine-length'>,
	'maxLength' | 'correctShort' | 'correctLong' | 'wrongShort' | 'wrongLong' | 'exceeded' | 'unit' | 'of'
>;

/**
 * Cosine reward from Yeo et al. 2025 (section 4), as implemented in open-r1's `get_cosine_scaled_reward`: follows half
 * a cosine from the value at length 0 to the value at maxLength, with separate values for correct and wrong answers.
 * Greater lengths are clamped to maxLength (in open-r1, the cosine swings back up) or get the `exceeded` value.
 *
 * @param correct result of the accuracy reward; if it is null, this reward is null too
 */
export function cosineLengthReward(
	sample: RewardSample,
	options: Options,
	tags: TraceTags,
	correct: number | null,
): number | null {
	if (correct === null) return null;
	// Missing thinking has length 0, so omitting it does not bypass the reward.
	const length = lengthOf(sample, options, tags) ?? 0;
	const { maxLength, exceeded } = options;
	if (length >= maxLength && exceeded !== undefined) return exceeded;
	const [short, long] =
		correct > 0 ? [options.correctShort, options.correctLong] : [options.wrongShort, options.wrongLong];
	const progress = Math.min(1, length / maxLength);
	return long + 0.5 * (short - long) * (1 + Math.cos(progress * Math.PI));
}
