import type { Objective, TokenTerm } from './objective.ts';

/** Maximum weight, and maximum log ratio. */
const weightLimit = 20;
const logLimit = 20;
/** Keeps logarithms finite where a probability is 1. */
const epsilon = 1e-8;

type Divergence = Pick<Objective, 'lossType' | 'epsilonLow' | 'epsilonHigh'>;

export const isDppo = ({ lossType }: Pick<Objective, 'lossType'>): boolean =>
	lossType === 'dppo_tv' || lossType === 'dppo_kl';

/**
 * DPPO: REINFORCE with a detached importance weight of at most 20, -ratio A logprob, excluding tokens whose probability
 * has already moved far in the direction of their advantage. Distance is measured by the divergence between the old and
 * new distributions over the token and "any other token", not by the probability ratio as in PPO: total variation,
 * |new - old| (`dppo_tv`), or KL, old log(old / new) + (1 - old) log((1 - old) / (1 - new)) (`dppo_kl`). `epsilonHigh`
 * limits it for positive advantages, `epsilonLow` for others. Qi et al. 2026 (arXiv:2602.04879); verl's `dppo_tv` and
 * `dppo_kl`.
 */
export function dppoTerm(logRatio: number, logprob: number, advantage: number, objective: Divergence): TokenTerm {
	if (divergedSide(logRatio, logprob, advantage, objective) !== null) return { loss: 0, slope: 0, direct: 0 };
	const weight = Math.min(Math.exp(Math.min(Math.max(logRatio, -logLimit), logLimit)), weightLimit);
	const direct = -weight * advantage;
	return { loss: direct * logprob, slope: 0, direct };
}

/**
 * Returns the side on which a token is excluded: `high` for positive advantages, `low` for others; null if it is not
 * excluded.
 */
export function divergedSide(
	logRatio: number,
	logprob: number,
	advantage: number,
	{ lossType, epsilonLow, epsilonHigh }: Divergence,
): 'low' | 'high' | null {
	const [now, old] = [Math.exp(logprob), Math.exp(logprob - logRatio)];
	const positive = advantage > 0;
	if (positive ? now <= old : now >= old) return null;
	const divergence =
		lossType === 'dppo_kl'
			? -old * logRatio + (1 - old) * Math.log((1 - old + epsilon) / (1 - now + epsilon))
			: Math.abs(now - old);
	if (divergence <= (positive ? epsilonHigh : epsilonLow)) return null;
	return positive ? 'high' : 'low';
}
