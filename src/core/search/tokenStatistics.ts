import { type DistributionStatistics, distributionStatistics } from './distribution.ts';
import type { TokenDetail } from './policy.ts';

export type TopTokens = readonly (readonly [text: string, logprob: number])[];

/**
 * Statistics per token: those of the next-token distribution from which it was sampled, the gap between the
 * probabilities of the two most probable tokens, and the log-probability of the token itself.
 */
export const tokenStatistics = ['entropy', 'varentropy', 'gini', 'variance', 'gap', 'logprob'] as const;
export type TokenStatistic = (typeof tokenStatistics)[number];

/**
 * Statistics of the top alternatives alone, renormalized; null if there are none. If most of the probability mass lies
 * in them, they approximate those of the whole distribution.
 */
export function topStatistics(top: TopTokens): DistributionStatistics | null {
	const weights = top.map(([, logprob]) => Math.exp(logprob)).filter((weight) => weight > 0 && weight <= 1.000001);
	return weights.length === 0 ? null : distributionStatistics(weights);
}

/** Difference of the probabilities of the two most probable tokens; null if fewer than two are recorded. */
export function topGap(top: TopTokens): number | null {
	let [first, second] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
	for (const [, logprob] of top) {
		if (logprob > first) [first, second] = [logprob, first];
		else if (logprob > second) second = logprob;
	}
	return second === Number.NEGATIVE_INFINITY ? null : Math.exp(first) - Math.exp(second);
}

/** A statistic at a token, as recorded by the policy or else computed from the alternatives; null if unknown. */
export function statisticAt(detail: TokenDetail, index: number, name: TokenStatistic): number | null {
	const top = detail.top?.[index] ?? [];
	if (name === 'gap') return topGap(top);
	const told = detail[name]?.[index];
	if (told !== undefined && told !== null && Number.isFinite(told)) return told;
	return name === 'logprob' ? null : (topStatistics(top)?.[name] ?? null);
}

/** Whether a statistic at a token covers the top alternatives only. */
export function isPartial(detail: TokenDetail, index: number, name: TokenStatistic): boolean {
	if (name === 'gap' || name === 'logprob') return false;
	const told = detail[name]?.[index];
	return told === undefined || told === null || detail.partial === true;
}
