import { formatCount, formatCounted, formatNumber } from '../../src/base/format.ts';
import { tokenKl, tokenRatios } from '../../src/core/trace/tokenColumns.ts';
import { tokenAges } from '../../src/core/trace/weightVersions.ts';
import type { TokenColumns, TokenValue } from '../../src/protocol/rolloutsMessages.ts';
import { fullAt, highestLevel, statisticNames } from '../lib/tokens/statisticScale.ts';
import type { TokenView } from './savedState.ts';

export const tokenViewNames: Readonly<Record<TokenView, string>> = {
	off: 'Off',
	logprob: statisticNames.logprob,
	entropy: statisticNames.entropy,
	ratio: 'Ratio',
	kl: 'KL to reference',
	advantage: 'Advantage',
	weights: 'Weights',
};

/**
 * Difference between adjacent levels, in nats of surprisal (-log p), entropy, log ratio, and k3. Level 4 of the ratio
 * is about where clipping at 0.2 begins. Advantages are scaled by the largest one in the group.
 */
const levelSize = {
	logprob: fullAt.logprob / highestLevel,
	entropy: fullAt.entropy / highestLevel,
	ratio: 0.05,
	kl: 0.05,
} as const;

/** Returns the values that determine token colors in a view, one per token, or null if they were not recorded. */
export function valuesOf(view: TokenValue, tokens: TokenColumns): readonly (number | null)[] | null {
	switch (view) {
		case 'logprob':
			return tokens.logprob;
		case 'entropy':
			return tokens.entropy;
		case 'ratio':
			return tokenRatios(tokens);
		case 'kl':
			return tokenKl(tokens);
		case 'advantage':
			return tokens.advantage ?? null;
		case 'weights':
			return agesOf(tokens);
	}
}

function agesOf({ version, weights }: TokenColumns): readonly (number | null)[] | null {
	return version && weights ? tokenAges(version, weights) : null;
}

/** Recorded and derived token columns. */
export interface TokenTable {
	readonly tokens: TokenColumns;
	readonly ratio: readonly (number | null)[] | null;
	readonly kl: readonly (number | null)[] | null;
	readonly age: readonly (number | null)[] | null;
}

export function tokenTable(tokens: TokenColumns): TokenTable {
	return { tokens, ratio: tokenRatios(tokens), kl: tokenKl(tokens), age: agesOf(tokens) };
}

/** Returns a token's color level, negative below the center, or null if it was not recorded. */
export function tokenLevel(view: TokenValue, value: number | null | undefined, largestAdvantage = 1): number | null {
	if (value === null || value === undefined || Number.isNaN(value)) return null;
	const clamp = (level: number) => Math.max(-highestLevel, Math.min(highestLevel, Math.trunc(level))) + 0;
	switch (view) {
		case 'logprob':
			return Math.max(0, clamp(-value / levelSize.logprob));
		case 'entropy':
		case 'kl':
			return Math.max(0, clamp(value / levelSize[view]));
		case 'ratio':
			return value <= 0 ? -highestLevel : clamp(Math.log(value) / levelSize.ratio);
		case 'weights':
			return Math.max(0, clamp(value));
		case 'advantage': {
			const largest = largestAdvantage > 0 ? largestAdvantage : 1;
			if (value === 0) return 0;
			// Nonzero values get at least level 1.
			return Math.sign(value) * Math.max(1, Math.abs(clamp((value / largest) * highestLevel)));
		}
	}
}

/**
 * Returns the CSS class for a level (lib/tokens/tokenColors.css): orange for unusual values and those below the center, blue
 * for those above it.
 */
export function levelClass(view: TokenValue, level: number | null): string {
	if (level === null) return 'level-none';
	const around = view === 'ratio' || view === 'advantage';
	if (!around) return `level-${level}`;
	return level > 0 ? `above-${level}` : `level-${-level}`;
}

/** Class for tokens from an environment. */
export const observedClass = 'observed';

/** Returns a predicate for tokens from an environment. */
export function observedTokens({ observed = [] }: TokenColumns): (token: number) => boolean {
	return (token) => {
		let low = 0;
		let high = observed.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if ((observed[middle]?.[1] ?? 0) <= token) low = middle + 1;
			else high = middle;
		}
		return (observed[low]?.[0] ?? Number.POSITIVE_INFINITY) <= token;
	};
}

export interface TokenScale {
	/** All levels, in ascending order. */
	readonly levels: readonly number[];
	readonly low: string;
	readonly middle: string | null;
	readonly high: string;
}

/** Returns the color legend for a view. */
export function tokenScale(view: TokenValue, largestAdvantage = 1): TokenScale {
	const up = Array.from({ length: highestLevel + 1 }, (_, i) => i);
	const both = [
		...up
			.slice(1)
			.reverse()
			.map((level) => -level),
		...up,
	];
	switch (view) {
		case 'logprob':
			return {
				levels: up,
				low: '0',
				middle: null,
				high: `≤ −${formatNumber(levelSize.logprob * highestLevel, 2)} nats`,
			};
		case 'entropy':
			return {
				levels: up,
				low: '0',
				middle: null,
				high: `≥ ${formatNumber(levelSize.entropy * highestLevel, 2)} nats`,
			};
		case 'kl':
			return { levels: up, low: '0', middle: null, high: `≥ ${formatNumber(levelSize.kl * highestLevel, 2)} nats` };
		case 'weights':
			return { levels: up, low: 'newest', middle: null, high: `≥ ${highestLevel} updates older` };
		case 'ratio': {
			const end = Math.exp(levelSize.ratio * highestLevel);
			return { levels: both, low: `≤ ${formatNumber(1 / end, 2)}`, middle: '1', high: `≥ ${formatNumber(end, 3)}` };
		}
		case 'advantage': {
			const end = formatNumber(largestAdvantage > 0 ? largestAdvantage : 1, 3);
			return { levels: both, low: `−${end}`, middle: '0', high: `+${end}` };
		}
	}
}

/** Describes the weights that generated a token: "weights version 12 (2 updates old)". */
function weightsText(version: number, age: number | null, trained: number | null): string {
	const known = trained === null ? null : age;
	return `weights version ${formatCount(version)}${known === null ? '' : ` (${formatCounted(known, 'update')} old)`}`;
}

/** Formats the recorded values of one token. */
export function tokenFacts({ tokens, ...derived }: TokenTable, i: number): string {
	const parts: string[] = [];
	if (observedTokens(tokens)(i)) return 'from the environment, not trained on';
	const logprob = tokens.logprob[i] ?? null;
	if (logprob !== null)
		parts.push(`log-probability ${formatNumber(logprob, 3)} (p ${formatNumber(Math.exp(logprob), 3)})`);
	const old = tokens.oldLogprob?.[i] ?? null;
	if (old !== null) parts.push(`trainer’s ${formatNumber(old, 3)}`);
	const ratio = derived.ratio?.[i] ?? null;
	if (ratio !== null) parts.push(`ratio ${formatNumber(ratio, 4)}`);
	const reference = tokens.refLogprob?.[i] ?? null;
	if (reference !== null) parts.push(`reference ${formatNumber(reference, 3)}`);
	const kl = derived.kl?.[i] ?? null;
	if (kl !== null) parts.push(`KL (k3) ${formatNumber(kl, 3)}`);
	const entropy = tokens.entropy?.[i] ?? null;
	if (entropy !== null) parts.push(`entropy ${formatNumber(entropy, 3)} nats`);
	const advantage = tokens.advantage?.[i] ?? null;
	if (advantage !== null) parts.push(`advantage ${formatNumber(advantage, 3)}`);
	const version = tokens.version?.[i] ?? null;
	if (version !== null) parts.push(weightsText(version, derived.age?.[i] ?? null, tokens.weights?.trained ?? null));
	return parts.length === 0 ? 'nothing recorded' : parts.join(' · ');
}
