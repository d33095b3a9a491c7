/** Position at which two completions diverge. */
export interface Divergence {
	/** Length of the common prefix, in tokens or, for {@link textDivergence}, in characters. */
	readonly common: number;
	/** Length of the common prefix in UTF-16 code units, in the first and in the second completion. */
	readonly start: number;
	readonly otherStart: number;
}

/** Returns the length of the common prefix of two lists. */
export function commonPrefix(a: ArrayLike<string>, b: ArrayLike<string>): number {
	const max = Math.min(a.length, b.length);
	let n = 0;
	while (n < max && a[n] === b[n]) n++;
	return n;
}

/**
 * Returns the first token at which two completions differ; null if their tokens are the same. If one completion is a
 * prefix of the other, they diverge at its end. If the same text was tokenized differently, they diverge at the first
 * different token.
 */
export function tokenDivergence(a: readonly string[], b: readonly string[]): Divergence | null {
	const common = commonPrefix(a, b);
	if (common === a.length && common === b.length) return null;
	let start = 0;
	for (let i = 0; i < common; i++) start += (a[i] as string).length;
	return { common, start, otherStart: start };
}

/** Like {@link tokenDivergence}, but by code point, for completions without recorded tokens. */
export function textDivergence(a: string, b: string): Divergence | null {
	if (a === b) return null;
	const max = Math.min(a.length, b.length);
	let start = 0;
	while (start < max && a.charCodeAt(start) === b.charCodeAt(start)) start++;
	// Treats a surrogate pair as one character.
	if (start > 0 && isHigh(a.charCodeAt(start - 1)) && (isLow(a, start) || isLow(b, start))) start--;
	let common = 0;
	for (const _ of a.slice(0, start)) common++;
	return { common, start, otherStart: start };
}

const isHigh = (code: number) => code >= 0xd800 && code < 0xdc00;

function isLow(text: string, at: number): boolean {
	const code = at < text.length ? text.charCodeAt(at) : 0;
	return code >= 0xdc00 && code < 0xe000;
}
