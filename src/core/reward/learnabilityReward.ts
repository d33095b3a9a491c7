/**
 * Reward of a proposed problem, from the share of attempts that solve it ("Absolute Zero", Zhao et al. 2025,
 * arXiv:2505.03335, equation 4): 1 minus the share, so that hard problems are worth more, but 0 if no attempt succeeds or
 * all do, because then nothing can be learned from them.
 * @param solved between 0 and 1
 */
export function learnabilityReward(solved: number): number {
	return solved <= 0 || solved >= 1 ? 0 : 1 - solved;
}
