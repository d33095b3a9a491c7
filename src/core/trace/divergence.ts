/** Where two completions part. */
export interface Divergence {
	/** Tokens (or characters, see the function) that both begin with. */
	readonly common: number;
	/** UTF-16 code units of that beginning in the first and in the second completion. */
	readonly start: number;
	readonly otherStart: number;
}

/** How many entries two lists have in common at their beginning. */
export function commonPrefix(a: ArrayLike<string>, b: ArrayLike<string>): number {
	const most = Math.min(a.length, b.length);
	let n = 0;
	while (n < most && a[n] === b[n]) n++;
	return n;
}

/**
 * The first token in which two completions differ; null: they are the same tokens. A completion that ends where the other
 * goes on parts from it at its end. Where the same text was cut into other tokens, they part at the first of these.
 */
export function tokenDivergence(a: readonly string[], b: readonly string[]): Divergence | null {
	const common = commonPrefix(a, b);
	if (common === a.length && common === b.length) return null;
	let start = 0;
	for (let i = 0; i < common; i++) start += (a[i] as string).length;
	return { common, start, otherStart: start };
}

/** As {@link tokenDivergence} by code points: for completions whose tokens were not recorded. */
export function textDivergence(a: string, b: string): Divergence | null {
	if (a === b) return null;
	const most = Math.min(a.length, b.length);
	let start = 0;
	while (start < most && a.charCodeAt(start) === b.charCodeAt(start)) start++;
	// Both halves of a pair are one character: it differs as a whole.
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
