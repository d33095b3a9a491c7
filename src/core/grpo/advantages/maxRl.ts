import { mean } from './groupAdvantages.ts';

/** Added to the mean, as in the authors' code. */
const epsilon = 1e-6;

/**
 * MaxRL: (r - mean) / (mean + 1e-6) within a group. For rewards of 0 and 1, the divisor is the success rate, so groups
 * that rarely succeed count more, as they would under maximum likelihood. All advantages are 0 in a group whose mean is
 * not positive, because it has no success to learn from. Tajwar et al. 2026 (arXiv:2602.02710), algorithm 1.
 * @param rewards rewards of one group, without nulls
 */
export function maxRlAdvantages(rewards: Float64Array): Float64Array {
	const center = mean(rewards);
	return rewards.map((reward) => (center > 0 ? (reward - center) / (center + epsilon) : 0));
}
