import type { TokenDetail } from './policy.ts';
import { statisticAt, type TopTokens } from './tokenStatistics.ts';

/**
 * Actions suggested by a next-token distribution (after Besta et al. 2025, "Reasoning Language Models: A Blueprint",
 * applied to token probabilities): `greedy` takes a single dominant token, `fork` tries the top two tokens if they are
 * close, `branch` tries several high-probability tokens, and `explore` samples any token from a flat distribution.
 */
export const tokenKinds = ['greedy', 'fork', 'branch', 'explore'] as const;
export type TokenKind = (typeof tokenKinds)[number];

/** Probability thresholds that separate the token types. The paper specifies none, so these values are our own. */
export interface ForkRule {
	/** Minimum probability for the top token to dominate. */
	readonly dominant: number;
	/** Minimum probability for a token to count as high-probability. */
	readonly high: number;
	/** Maximum difference for the top two tokens to count as close. */
	readonly gap: number;
}

export const defaultForkRule: ForkRule = { dominant: 0.8, high: 0.15, gap: 0.25 };

/** Classifies a distribution by its most probable tokens; null if none were recorded. */
export function tokenKind(top: TopTokens, rule: ForkRule = defaultForkRule): TokenKind | null {
	const p = top.map(([, logprob]) => Math.exp(logprob)).sort((a, b) => b - a);
	const [first, second = 0] = p;
	if (first === undefined) return null;
	if (first >= rule.dominant) return 'greedy';
	const high = p.filter((one) => one >= rule.high).length;
	if (high >= 3) return 'branch';
	if (high === 0) return 'explore';
	return high === 2 && first - second <= rule.gap ? 'fork' : 'greedy';
}

/** Fork criteria: the token type rule, or a threshold on one statistic. */
export const forkStatistics = ['rule', 'entropy', 'varentropy', 'gini', 'variance', 'gap'] as const;
export type ForkStatistic = (typeof forkStatistics)[number];

export interface ForkCriterion {
	readonly statistic: ForkStatistic;
	/** Threshold for the statistic. If omitted, its default is used. */
	readonly threshold?: number | undefined;
	readonly rule?: ForkRule;
}

/**
 * Default thresholds. Entropy: log 2 nats, as for two equally likely tokens; varentropy: 0.5 nats^2; gap: as in the
 * default rule; others: the value for two equally likely tokens among five alternatives. Gini coefficient and variance
 * depend on the number of tokens, so statistics over the whole vocabulary need different thresholds.
 */
export const forkThresholds: Readonly<Record<Exclude<ForkStatistic, 'rule'>, number>> = {
	entropy: Math.LN2,
	varentropy: 0.5,
	gini: 0.6,
	variance: 0.06,
	gap: defaultForkRule.gap,
};

/** Returns the strength of a fork at a token; positive if the criterion is met, null if unknown. */
export function forkStrength(detail: TokenDetail, index: number, criterion: ForkCriterion): number | null {
	const { statistic, rule = defaultForkRule } = criterion;
	if (statistic === 'rule') {
		const top = detail.top?.[index] ?? [];
		const kind = tokenKind(top, rule);
		if (kind === null) return null;
		const first = Math.max(...top.map(([, logprob]) => Math.exp(logprob)));
		return kind === 'greedy' ? 0 : 1 - first;
	}
	const value = statisticAt(detail, index, statistic);
	if (value === null) return null;
	const threshold = criterion.threshold ?? forkThresholds[statistic];
	// High entropy or varentropy indicates an open choice; for the other statistics, low values do.
	const excess = statistic === 'entropy' || statistic === 'varentropy' ? value - threshold : threshold - value;
	return excess < 0 ? 0 : excess + Number.EPSILON;
}

/** Returns the positions at which the criterion forks, in text order. If there are too many, keeps the strongest. */
export function forkPlaces(detail: TokenDetail, criterion: ForkCriterion, limit = Number.POSITIVE_INFINITY): number[] {
	const places: { index: number; strength: number }[] = [];
	for (let index = 0; index < detail.text.length; index++) {
		const strength = forkStrength(detail, index, criterion);
		if (strength !== null && strength > 0) places.push({ index, strength });
	}
	const strongest = places
		.sort((a, b) => b.strength - a.strength || a.index - b.index)
		.slice(0, Math.min(limit, places.length));
	return strongest.map(({ index }) => index).sort((a, b) => a - b);
}
