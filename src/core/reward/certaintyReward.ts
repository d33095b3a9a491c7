import type { RewardSample } from './rewardSample.ts';

/**
 * Returns the negative mean entropy of the completion's tokens, in nats: a label-free reward (Prabhudesai et al. 2025,
 * "Maximizing confidence alone improves reasoning", arXiv:2505.22660). The entropies are those of the distributions
 * from which the tokens were sampled. Returns null if they are unknown.
 */
export function certaintyReward({ entropy }: RewardSample): number | null {
	if (entropy === undefined || !Number.isFinite(entropy)) return null;
	// Avoid -0 for a completion without entropy.
	return 0 - entropy;
}
