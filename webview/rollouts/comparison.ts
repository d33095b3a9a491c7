import { formatNumber } from '../../src/base/format.ts';
import { type Divergence, textDivergence, tokenDivergence } from '../../src/core/trace/divergence.ts';
import type { RolloutContent } from '../../src/protocol/explorerMessages.ts';
import type { Place, TokenColumns } from '../../src/protocol/rolloutsMessages.ts';
import type { Mark } from '../lib/trace/marks.ts';

/** One side of the comparison. */
export interface Side {
	readonly place: Place;
	readonly content: RolloutContent;
	readonly text: string;
	readonly tokens: TokenColumns | null;
}

/** First difference between two completions: by token if both have tokens, otherwise by character. */
export interface Parting extends Divergence {
	readonly unit: 'token' | 'character';
}

/**
 * Returns whether the tokens add up to the text. If not (for example, with special tokens), their offsets cannot be
 * used.
 */
function spells(side: Side, characters: number): boolean {
	if (side.tokens === null) return false;
	let at = 0;
	for (const token of side.tokens.text) {
		if (at >= characters) return true;
		if (!side.text.startsWith(token, at)) return false;
		at += token.length;
	}
	return true;
}

/** Returns null if the completions are identical. */
export function partingOf(left: Side, right: Side): Parting | null {
	const byText = textDivergence(left.text, right.text);
	if (left.tokens !== null && right.tokens !== null) {
		const byToken = tokenDivergence(left.tokens.text, right.tokens.text);
		if (byToken !== null && spells(left, byToken.start + 1) && spells(right, byToken.otherStart + 1)) {
			return { ...byToken, unit: 'token' };
		}
		if (byToken === null && byText === null) return null;
	}
	return byText === null ? null : { ...byText, unit: 'character' };
}

/** Returns the token or character with which a side continues after the common prefix; null if it ends there. */
export function partingWord(
	side: Side,
	parting: Parting,
	start: number,
): { text: string; logprob: number | null } | null {
	if (parting.unit === 'token') {
		const text = side.tokens?.text[parting.common];
		return text === undefined ? null : { text, logprob: side.tokens?.logprob[parting.common] ?? null };
	}
	const code = side.text.codePointAt(start);
	return code === undefined ? null : { text: String.fromCodePoint(code), logprob: null };
}

/** Returns marks for the common prefix, the first differing token, and the remainder. */
export function comparisonMarks(side: Side, parting: Parting | null, start: number): Mark[] {
	const { length } = side.text;
	if (parting === null) return length > 0 ? [{ start: 0, end: length, kind: 'common', title: 'Common prefix' }] : [];
	const marks: Mark[] = [];
	if (start > 0) marks.push({ start: 0, end: start, kind: 'common', title: 'Common prefix' });
	const word = partingWord(side, parting, start);
	const end = Math.min(length, start + (word?.text.length ?? 0));
	if (end > start) marks.push({ start, end, kind: 'parting', title: 'First difference' });
	if (length > end) marks.push({ start: end, end: length, kind: 'differs' });
	return marks;
}

/** Row in the table of numbers: both values and their difference. */
export interface ComparedNumber {
	readonly name: string;
	readonly left: number | null;
	readonly right: number | null;
	/** Whether the values are counts. */
	readonly count?: true;
}

export function comparedNumbers(left: Side, right: Side): ComparedNumber[] {
	const [a, b] = [left.content.rollout, right.content.rollout];
	const names = new Set([...a.rewards, ...b.rewards].map(([name]) => name));
	const value = (rollout: typeof a, name: string) => rollout.rewards.find(([one]) => one === name)?.[1] ?? null;
	const tokens = a.tokens !== null && b.tokens !== null;
	return [
		{ name: 'Reward', left: a.reward, right: b.reward },
		...(names.size > 1 || !names.has('reward')
			? [...names].map((name) => ({ name, left: value(a, name), right: value(b, name) }))
			: []),
		{ name: 'Advantage', left: a.advantage, right: b.advantage },
		tokens
			? { name: 'Tokens', left: a.tokens, right: b.tokens, count: true }
			: { name: 'Characters', left: a.size, right: b.size, count: true },
	];
}

export function difference({ left, right }: ComparedNumber): string {
	if (left === null || right === null) return '–';
	const by = right - left;
	return by === 0 ? '=' : `${by > 0 ? '+' : ''}${formatNumber(by, 4)}`;
}
