import type { TokenDetail } from './policy.ts';
import { statisticAt, type TopTokens } from './tokenStatistics.ts';

/**
 * What a next-token distribution suggests (after Besta et al. 2025, "Reasoning Language Models: A Blueprint", applied
 * to token probabilities): one token dominates, take it (`greedy`); two lead and are close, try both (`fork`); several
 * are high, try these (`branch`); the distribution is flat, try any (`explore`).
 */
export const tokenKinds = ['greedy', 'fork', 'branch', 'explore'] as const;
export type TokenKind = (typeof tokenKinds)[number];

/** Probability thresholds between the kinds. The paper gives none; these are our own. */
export interface ForkRule {
	/** Min probability at which the top token dominates. */
	readonly dominant: number;
	/** Min probability of a high token. */
	readonly high: number;
	/** Max difference at which the top two tokens are close. */
	readonly gap: number;
}

export const defaultForkRule: ForkRule = { dominant: 0.8, high: 0.15, gap: 0.25 };

/** Classifies a distribution by its most probable tokens; null if none are recorded. */
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

/** The criterion: the rule of kinds, or a limit on one statistic. */
export const forkStatistics = ['rule', 'entropy', 'varentropy', 'gini', 'variance', 'gap'] as const;
export type ForkStatistic = (typeof forkStatistics)[number];

export interface ForkCriterion {
	readonly statistic: ForkStatistic;
	/** Absent: the default for the statistic. */
	readonly threshold?: number | undefined;
	readonly rule?: ForkRule;
}

/**
 * Defaults: entropy log 2 nats, as for two equal tokens; varentropy 0.5 nats^2; the gap of the rule; and for the others
 * the value of two equal tokens among five alternatives. Gini coefficient and variance depend on the number of tokens,
 * so whole vocabularies need other limits.
 */
export const forkThresholds: Readonly<Record<Exclude<ForkStatistic, 'rule'>, number>> = {
	entropy: Math.LN2,
	varentropy: 0.5,
	gini: 0.6,
	variance: 0.06,
	gap: defaultForkRule.gap,
};

/** Returns how strongly a token calls for a fork, above 0 if it does; null if unknown. */
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
	// For these a high value means open, for the others a low one.
	const excess = statistic === 'entropy' || statistic === 'varentropy' ? value - threshold : threshold - value;
	return excess < 0 ? 0 : excess + Number.EPSILON;
}

/** Returns up to a maximum number of places at which the criterion forks: the strongest ones, in text order. */
export function forkPlaces(detail: TokenDetail, criterion: ForkCriterion, most = Number.POSITIVE_INFINITY): number[] {
	const places: { index: number; strength: number }[] = [];
	for (let index = 0; index < detail.text.length; index++) {
		const strength = forkStrength(detail, index, criterion);
		if (strength !== null && strength > 0) places.push({ index, strength });
	}
	const strongest = places
		.sort((a, b) => b.strength - a.strength || a.index - b.index)
		.slice(0, Math.min(most, places.length));
	return strongest.map(({ index }) => index).sort((a, b) => a - b);
}
