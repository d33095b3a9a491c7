import type { Objective, TokenTerm } from './objective.ts';

/**
 * CISPO: REINFORCE with a truncated, detached importance weight, -min(ratio, epsilonHigh) A logprob. Every token keeps
 * its gradient. MiniMax-M1 (2025, arXiv:2506.13585), equations 4 and 5. `epsilonHigh` is the maximum weight itself, not
 * its distance from 1, as in TRL.
 */
export function cispoTerm(
	logRatio: number,
	logprob: number,
	advantage: number,
	{ epsilonHigh }: Pick<Objective, 'epsilonHigh'>,
): TokenTerm {
	const direct = -Math.min(Math.exp(logRatio), epsilonHigh) * advantage;
	return { loss: direct * logprob, slope: 0, direct };
}

/** Returns whether the weight of a token with a positive advantage is truncated (TRL's `is_cispo_clipped`). */
export function isTruncated(
	logRatio: number,
	advantage: number,
	{ epsilonHigh }: Pick<Objective, 'epsilonHigh'>,
): boolean {
	return Math.exp(logRatio) > epsilonHigh && advantage > 0;
}
