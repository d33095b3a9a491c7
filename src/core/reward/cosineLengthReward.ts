import type { RewardEntry } from '../../protocol/builtInRewards.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { RewardSample } from './rewardSample.ts';
import { lengthOf } from './textLength.ts';

type Options = Pick<
	RewardEntry<'cosine-length'>,
	'maxLength' | 'correctShort' | 'correctLong' | 'wrongShort' | 'wrongLong' | 'exceeded' | 'unit' | 'of'
>;

/**
 * The cosine reward of Yeo et al. 2025 (section 4), as open-r1's `get_cosine_scaled_reward` has it: along half a cosine from
 * the value at length 0 to the value at maxLength, with values of their own for right and wrong answers. Longer
 * completions count as maxLength (open-r1 lets the cosine swing back), or get the value of `exceeded`.
 *
 * @param correct what the accuracy reward says; null: it does not apply, and neither does this
 */
export function cosineLengthReward(
	sample: RewardSample,
	options: Options,
	tags: TraceTags,
	correct: number | null,
): number | null {
	if (correct === null) return null;
	// No thinking is a thinking of no length: leaving it out must not be a way around the reward.
	const length = lengthOf(sample, options, tags) ?? 0;
	const { maxLength, exceeded } = options;
	if (length >= maxLength && exceeded !== undefined) return exceeded;
	const [short, long] =
		correct > 0 ? [options.correctShort, options.correctLong] : [options.wrongShort, options.wrongLong];
	const progress = Math.min(1, length / maxLength);
	return long + 0.5 * (short - long) * (1 + Math.cos(progress * Math.PI));
}
