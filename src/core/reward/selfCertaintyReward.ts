import type { RewardSample } from './rewardSample.ts';

/**
 * Returns the self-certainty of a completion: the mean over its tokens of the KL divergence from the uniform
 * distribution over the vocabulary to the distribution from which the token was sampled, in nats. A label-free reward
 * (Intuitor, Zhao et al. 2025, "Learning to reason without external rewards", arXiv:2505.19590, equation 2). Returns
 * null if it is unknown.
 */
export function selfCertaintyReward({ selfCertainty }: RewardSample): number | null {
	return selfCertainty === undefined || !Number.isFinite(selfCertainty) ? null : selfCertainty;
}
