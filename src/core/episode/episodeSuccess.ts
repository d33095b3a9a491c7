import { sameReward } from './episodeStatistics.ts';

/** Largest reward of environments that do not declare theirs. */
const usualBest = 1;

/**
 * Returns whether an episode succeeded: whether it earned the largest reward, which is the end of `reward_range` or, if
 * the environment declares none, 1. null if it has no reward.
 */
export function isSuccess(reward: number | null, range?: readonly [number, number]): boolean | null {
	return reward === null ? null : reward >= (range?.[1] ?? usualBest) - sameReward;
}
