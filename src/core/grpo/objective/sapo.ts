import type { SapoTemperatures, TokenTerm } from './objective.ts';

/**
 * SAPO: a sigmoid of the ratio in place of clipping, -4 / t * sigmoid(t (ratio - 1)) A, where t depends on the sign of
 * the advantage. At ratio 1, the gradient equals that of the unclipped surrogate. Gao et al. 2025 (arXiv:2511.20347),
 * equations 6 and 7.
 */
export function sapoTerm(logRatio: number, advantage: number, { positive, negative }: SapoTemperatures): TokenTerm {
	const temperature = advantage > 0 ? positive : negative;
	const ratio = Math.exp(logRatio);
	const gate = 1 / (1 + Math.exp(-temperature * (ratio - 1)));
	return {
		loss: (-4 / temperature) * gate * advantage,
		slope: -4 * gate * (1 - gate) * ratio * advantage,
		direct: 0,
	};
}
