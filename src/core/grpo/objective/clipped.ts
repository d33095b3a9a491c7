import type { Objective, TokenTerm } from './objective.ts';

/** Distances from 1 beyond which a ratio is clipped. */
export type ClipRange = Pick<Objective, 'epsilonLow' | 'epsilonHigh'>;

/**
 * PPO's clipped surrogate with separate bounds: -min(ratio A, clip(ratio, 1 - epsilonLow, 1 + epsilonHigh) A). PPO
 * (Schulman et al. 2017, arXiv:1707.06347), equation 7; separate bounds: DAPO (Yu et al. 2025, arXiv:2503.14476),
 * equation 10. `delta` limits the ratio of the unclipped term.
 */
export function clippedTerm(logRatio: number, advantage: number, objective: Objective): TokenTerm {
	const { epsilonLow, epsilonHigh, delta } = objective;
	const ratio = Math.exp(logRatio);
	const limited = delta === null ? ratio : Math.min(ratio, delta);
	const clipped = Math.min(Math.max(ratio, 1 - epsilonLow), 1 + epsilonHigh);
	const free = limited * advantage;
	const bound = clipped * advantage;
	const inForce = free <= bound ? limited : clipped;
	return { loss: -Math.min(free, bound), slope: inForce === ratio ? -ratio * advantage : 0, direct: 0 };
}

/** Returns the side on which clipping removes a token's gradient (TRL's `is_low_clipped`, `is_high_clipped`). */
export function clipSide(
	logRatio: number,
	advantage: number,
	{ epsilonLow, epsilonHigh }: ClipRange,
): 'low' | 'high' | null {
	const ratio = Math.exp(logRatio);
	if (ratio < 1 - epsilonLow && advantage < 0) return 'low';
	if (ratio > 1 + epsilonHigh && advantage > 0) return 'high';
	return null;
}
