import type { TokenDetail } from './policy.ts';
import { statisticAt, type TopTokens } from './tokenStatistics.ts';

/**
 * What a next-token distribution asks for (after Besta et al. 2025, "Reasoning Language Models: A Blueprint", on token
 * probabilities): one token dominates: take it (`greedy`); two lead and are close: try both (`fork`); several are high: try
 * these (`branch`); it is flat: any may be tried (`explore`).
 */
export const tokenKinds = ['greedy', 'fork', 'branch', 'explore'] as const;
export type TokenKind = (typeof tokenKinds)[number];

/** Limits between the kinds, as probabilities; ours, the paper gives none. */
export interface ForkRule {
	/** The most probable token dominates from here on. */
	readonly dominant: number;
	/** A token is high from here on. */
	readonly high: number;
	/** The top two are close up to this difference. */
	readonly gap: number;
}

export const defaultForkRule: ForkRule = { dominant: 0.8, high: 0.15, gap: 0.25 };

/** The kind of a distribution by its most probable tokens; null: none are told. */
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

/** What decides: the rule of kinds, or a limit of one statistic. */
export const forkStatistics = ['rule', 'entropy', 'varentropy', 'gini', 'variance', 'gap'] as const;
export type ForkStatistic = (typeof forkStatistics)[number];

export interface ForkCriterion {
	readonly statistic: ForkStatistic;
	/** Absent: the default of the statistic. */
	readonly threshold?: number | undefined;
	readonly rule?: ForkRule;
}

/**
 * Defaults: entropy log 2 nats, as of two equal tokens; varentropy 0.5 nats^2; the gap of the rule; and what two equal tokens
 * have among five alternatives. Gini coefficient and variance depend on how many tokens there are: of whole vocabularies
 * they need limits of their own.
 */
export const forkThresholds: Readonly<Record<Exclude<ForkStatistic, 'rule'>, number>> = {
	entropy: Math.LN2,
	varentropy: 0.5,
	gini: 0.6,
	variance: 0.06,
	gap: defaultForkRule.gap,
};

/** How strongly a token asks for a fork, above 0 where it does; null: it is not known. */
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
	// Of these a high value says "open", of the others a low one.
	const excess = statistic === 'entropy' || statistic === 'varentropy' ? value - threshold : threshold - value;
	return excess < 0 ? 0 : excess + Number.EPSILON;
}

/** Places of a text at which the criterion forks, at most so many: the strongest ones, in the order of the text. */
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
