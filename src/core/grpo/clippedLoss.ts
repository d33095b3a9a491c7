import { klEstimate } from './kl.ts';

export interface ClipRange {
	readonly epsilonLow: number;
	readonly epsilonHigh: number;
}

export interface TokenLossInput extends ClipRange {
	readonly logprob: number;
	readonly oldLogprob: number;
	/** Log-probability under the reference policy. Not used if beta is 0. */
	readonly refLogprob: number;
	readonly advantage: number;
	readonly beta: number;
}

export interface TokenLoss {
	readonly loss: number;
	/** d loss / d logprob. */
	readonly gradient: number;
}

/**
 * Loss of a single token. This is the plain reference implementation for the engine's graph: -min(ratio * A,
 * clip(ratio, 1 - epsilonLow, 1 + epsilonHigh) * A) + beta * k3, where ratio = exp(logprob - oldLogprob). It combines
 * PPO's clipped surrogate (Schulman et al. 2017, equation 7), DAPO's two clip ranges, and DeepSeekMath's KL (equation
 * 4).
 */
export function tokenLoss(input: TokenLossInput): TokenLoss {
	const ratio = Math.exp(input.logprob - input.oldLogprob);
	const clipped = Math.min(Math.max(ratio, 1 - input.epsilonLow), 1 + input.epsilonHigh);
	const free = ratio * input.advantage;
	const bound = clipped * input.advantage;
	let loss = -Math.min(free, bound);
	let gradient = free <= bound ? -free : 0;
	if (input.beta !== 0) {
		loss += input.beta * klEstimate('k3', input.logprob, input.refLogprob);
		gradient += input.beta * -Math.expm1(input.refLogprob - input.logprob);
	}
	return { loss: loss === 0 ? 0 : loss, gradient: gradient === 0 ? 0 : gradient };
}

/** Returns the side on which clipping removes a token's gradient (TRL's `is_low_clipped`, `is_high_clipped`). */
export function clipSide(
	logprob: number,
	oldLogprob: number,
	advantage: number,
	{ epsilonLow, epsilonHigh }: ClipRange,
): 'low' | 'high' | null {
	const ratio = Math.exp(logprob - oldLogprob);
	if (ratio < 1 - epsilonLow && advantage < 0) return 'low';
	if (ratio > 1 + epsilonHigh && advantage > 0) return 'high';
	return null;
}
