import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { RewardSample } from './rewardSample.ts';
import { lengthOf } from './textLength.ts';

type Options = Pick<RewardEntry<'soft-overlong'>, 'maxLength' | 'cacheLength' | 'unit' | 'of'>;

/**
 * DAPO's soft overlong penalty (Yu et al. 2025, equation 13): 0 up to L_max - L_cache, then linear down to -1 at L_max,
 * and -1 beyond. Intended to be added to accuracy.
 */
export function softOverlongReward(sample: RewardSample, options: Options, tags: TraceTags): number {
	const length = lengthOf(sample, options, tags) ?? 0;
	const { maxLength, cacheLength } = options;
	const free = maxLength - cacheLength;
	if (length <= free) return 0;
	return length <= maxLength ? (free - length) / cacheLength : -1;
}
