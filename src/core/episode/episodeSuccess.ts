import { sameReward } from './episodeStatistics.ts';

/** Default maximum reward of environments that do not declare one. */
const usualBest = 1;

/**
 * Returns whether an episode earned the maximum reward: the upper end of `reward_range`, or 1 if the environment does
 * not declare a range. Returns null if the episode has no reward.
 */
export function isSuccess(reward: number | null, range?: readonly [number, number]): boolean | null {
	return reward === null ? null : reward >= (range?.[1] ?? usualBest) - sameReward;
}
