import { formatNumber } from '../../../src/base/format.ts';
import { type TokenKind, tokenKind } from '../../../src/core/search/forkRule.ts';
import type { TokenDetail } from '../../../src/core/search/policy.ts';
import {
	isPartial,
	statisticAt,
	type TokenStatistic,
	tokenStatistics,
} from '../../../src/core/search/tokenStatistics.ts';

/** Maximum color level; level 0 means that the policy is certain. */
export const highestLevel = 6;

export const statisticNames: Readonly<Record<TokenStatistic, string>> = {
	entropy: 'Entropy',
	varentropy: 'Varentropy',
	gini: 'Gini coefficient',
	variance: 'Variance',
	gap: 'Top-two gap',
	logprob: 'Log-probability',
};

export const statisticWords: Readonly<Record<TokenStatistic, string>> = {
	entropy: 'Entropy of the next-token distribution; 0 if one token is certain',
	varentropy: 'Varentropy: variance of the surprisal',
	gini: 'Gini coefficient of the probabilities; darker is more uniform',
	variance: 'Variance of the probabilities; darker is more uniform',
	gap: 'Probability gap between the top two tokens; darker is closer',
	logprob: 'Log-probability of the sampled token; darker is less likely',
};

export const kindWords: Readonly<Record<TokenKind, string>> = {
	greedy: 'greedy: one token dominates',
	fork: 'fork: top two tokens are close',
	branch: 'branch: several likely tokens',
	explore: 'flat: no likely token',
};

/** Names for the legend. */
export const kindNames: Readonly<Record<TokenKind, string>> = {
	greedy: 'one dominant',
	fork: 'top two close',
	branch: 'several likely',
	explore: 'flat',
};

const units: Readonly<Record<TokenStatistic, string>> = {
	entropy: ' nats',
	varentropy: ' nats²',
	gini: '',
	variance: '',
	gap: '',
	logprob: ' nats',
};

/** Per-token statistic with its color scale. */
export interface StatisticColumn {
	readonly name: TokenStatistic;
	/** One value per token; null if unknown. */
	readonly values: readonly (number | null)[];
	/** Whether some values are based only on the top alternatives. */
	readonly partial: boolean;
	/** Maps a value to the color scale, from 0 (certain) to 1 (uncertain). */
	strength(value: number): number;
	/** Legend labels for the weakest and the strongest color. */
	readonly low: string;
	readonly high: string;
}

/** Values at which the color is strongest, for statistics whose scale does not depend on the text. */
export const fullAt = { entropy: 2.4, varentropy: 3, logprob: 4.5 } as const;

/** Returns null if the statistic is unknown for all tokens. */
export function statisticColumn(detail: TokenDetail, name: TokenStatistic): StatisticColumn | null {
	const values = detail.text.map((_, i) => statisticAt(detail, i, name));
	const known = values.filter((value) => value !== null);
	if (known.length === 0) return null;
	const partial = values.some((value, i) => value !== null && isPartial(detail, i, name));
	const shared = { name, values, partial };
	const clamp = (share: number) => Math.max(0, Math.min(1, share)) || 0;
	const show = (value: number) => `${formatNumber(value, 3)}${units[name]}`;
	switch (name) {
		case 'entropy':
		case 'varentropy':
			return { ...shared, strength: (v) => clamp(v / fullAt[name]), low: '0', high: `≥ ${show(fullAt[name])}` };
		case 'logprob':
			return { ...shared, strength: (v) => clamp(-v / fullAt.logprob), low: '0', high: `≤ ${show(-fullAt.logprob)}` };
		case 'gap':
			return { ...shared, strength: (v) => clamp(1 - v), low: '1', high: '0' };
		case 'gini':
		case 'variance': {
			// The usual range depends on the number of tokens, so derive it from the text.
			let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
			for (const value of known) [min, max] = [Math.min(min, value), Math.max(max, value)];
			const span = max - min;
			return {
				...shared,
				strength: (v) => (span > 0 ? clamp((max - v) / span) : 0),
				low: show(max),
				high: show(min),
			};
		}
	}
}

/** Returns the statistics that have at least one value. */
export function knownStatistics(detail: TokenDetail): TokenStatistic[] {
	return tokenStatistics.filter((name) => detail.text.some((_, i) => statisticAt(detail, i, name) !== null));
}

export function levelOf(column: StatisticColumn, token: number): number | null {
	const value = column.values[token] ?? null;
	return value === null ? null : Math.min(highestLevel, Math.floor(column.strength(value) * (highestLevel + 1)));
}

/** Returns the type of each token's distribution; null if its alternatives are unknown. */
export function kindsOf(detail: TokenDetail): (TokenKind | null)[] {
	return detail.text.map((_, i) => tokenKind(detail.top?.[i] ?? []));
}

/** Formats one statistic of a token; null if it is unknown. */
export function valueWords(detail: TokenDetail, token: number, name: TokenStatistic): string | null {
	const value = statisticAt(detail, token, name);
	if (value === null) return null;
	const about = isPartial(detail, token, name) ? '≈ ' : '';
	const p = name === 'logprob' ? ` (p ${formatNumber(Math.exp(value), 3)})` : '';
	return `${statisticNames[name].toLowerCase()} ${about}${formatNumber(value, 3)}${units[name]}${p}`;
}

/** Formats the values of a token. */
export function tokenWords(detail: TokenDetail, token: number, kind: TokenKind | null): string {
	const parts = tokenStatistics.flatMap((name) => valueWords(detail, token, name) ?? []);
	if (kind !== null) parts.push(kindWords[kind]);
	return parts.length === 0 ? 'no data' : parts.join(' · ');
}

/** Divides the text into equal parts and returns the maximum strength in each part; null if no value is known. */
export function stripOf(column: StatisticColumn, stretches: number): (number | null)[] {
	const { length } = column.values;
	const count = Math.max(1, Math.min(stretches, length));
	const strip = new Array<number | null>(count).fill(null);
	for (const [i, value] of column.values.entries()) {
		if (value === null) continue;
		const at = Math.floor((i / length) * count);
		strip[at] = Math.max(strip[at] ?? 0, column.strength(value));
	}
	return strip;
}
