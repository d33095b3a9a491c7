/**
 * Reward for a proposed problem, based on the share of attempts that solve it ("Absolute Zero", Zhao et al. 2025,
 * arXiv:2505.03335, equation 4): 1 minus the share, so that harder problems earn more, but 0 if no attempt or every
 * attempt succeeds, because such problems teach nothing.
 * @param solved between 0 and 1
 */
export function learnabilityReward(solved: number): number {
	return solved <= 0 || solved >= 1 ? 0 : 1 - solved;
}
