import { type DistributionStatistics, distributionStatistics } from './distribution.ts';
import type { TokenDetail } from './policy.ts';

export type TopTokens = readonly (readonly [text: string, logprob: number])[];

/**
 * Per-token statistics. `gap` is the probability difference between the two most probable tokens, and `logprob` is the
 * log-probability of the token; the others describe the next-token distribution that the token was sampled from.
 */
export const tokenStatistics = ['entropy', 'varentropy', 'gini', 'variance', 'gap', 'logprob'] as const;
export type TokenStatistic = (typeof tokenStatistics)[number];

/**
 * Computes statistics of the renormalized top alternatives; null if there are none. They approximate the statistics of
 * the whole distribution if the alternatives cover most of the probability mass.
 */
export function topStatistics(top: TopTokens): DistributionStatistics | null {
	const weights = top.map(([, logprob]) => Math.exp(logprob)).filter((weight) => weight > 0 && weight <= 1.000001);
	return weights.length === 0 ? null : distributionStatistics(weights);
}

/** Returns the probability difference between the two most probable tokens; null if fewer than two were recorded. */
export function topGap(top: TopTokens): number | null {
	let [first, second] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
	for (const [, logprob] of top) {
		if (logprob > first) [first, second] = [logprob, first];
		else if (logprob > second) second = logprob;
	}
	return second === Number.NEGATIVE_INFINITY ? null : Math.exp(first) - Math.exp(second);
}

/** Returns a statistic for a token, as recorded by the policy or computed from the alternatives; null if unknown. */
export function statisticAt(detail: TokenDetail, index: number, name: TokenStatistic): number | null {
	const top = detail.top?.[index] ?? [];
	if (name === 'gap') return topGap(top);
	const recorded = detail[name]?.[index];
	if (recorded !== undefined && recorded !== null && Number.isFinite(recorded)) return recorded;
	return name === 'logprob' ? null : (topStatistics(top)?.[name] ?? null);
}

/** Returns whether a statistic for a token covers only the top alternatives. */
export function isPartial(detail: TokenDetail, index: number, name: TokenStatistic): boolean {
	if (name === 'gap' || name === 'logprob') return false;
	const recorded = detail[name]?.[index];
	return recorded === undefined || recorded === null || detail.partial === true;
}
