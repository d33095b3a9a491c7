/** Maximum nesting depth of an answer. */
const maxDepth = 60;

const closers: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/**
 * Returns the index of the bracket that closes the one at `open`, counting only brackets of that type, or -1 if it is
 * never closed.
 */
export function groupEnd(text: string, open: number): number {
	const opener = text[open] as string;
	const closer = closers[opener];
	let depth = 0;
	for (let i = open; i < text.length; i++) {
		const c = text[i];
		if (c === '\\') i++;
		else if (c === opener) {
			if (++depth > 4 * maxDepth) return -1;
		} else if (c === closer && --depth === 0) return i;
	}
	return -1;
}

export interface Piece {
	readonly text: string;
	readonly start: number;
	readonly end: number;
}

/** Returns the length of the LaTeX command at `at`, which must be a backslash: `\frac`, `\{`. */
function commandLength(text: string, at: number): number {
	let end = at + 1;
	while (end < text.length && /[a-zA-Z]/.test(text[end] as string)) end++;
	return Math.max(end - at, 2);
}

export interface Token {
	readonly text: string;
	readonly start: number;
	/** Number of enclosing brackets. A bracket itself has the depth of its surroundings. */
	readonly depth: number;
}

/**
 * Splits text into commands and characters, with the depth of the brackets around them: `( ) [ ] { } \{ \} \langle
 * \rangle` and environments. An interval can close with a different bracket than it opens with, so bracket types are
 * not matched. Returns null if the nesting is too deep or there are more closing than opening brackets.
 */
export function tokens(text: string): Token[] | null {
	const list: Token[] = [];
	let depth = 0;
	for (let i = 0; i < text.length; ) {
		const length = text[i] === '\\' ? commandLength(text, i) : 1;
		const token = text.slice(i, i + length);
		const opens = /^(?:[([{]|\\\{|\\langle|\\begin|\\lfloor|\\lceil)$/.test(token);
		const closes = /^(?:[)\]}]|\\\}|\\rangle|\\end|\\rfloor|\\rceil)$/.test(token);
		if (closes && --depth < 0) return null;
		list.push({ text: token, start: i, depth });
		if (opens && ++depth > maxDepth) return null;
		i += length;
	}
	return depth === 0 ? list : null;
}

/** Splits text at separators outside all brackets. Returns the separators along with the pieces. */
export function splitOutside(
	text: string,
	separators: ReadonlySet<string>,
): { readonly pieces: readonly string[]; readonly between: readonly string[] } | null {
	const list = tokens(text);
	if (list === null) return null;
	const pieces: string[] = [];
	const between: string[] = [];
	let from = 0;
	for (const token of list) {
		if (token.depth !== 0 || !separators.has(token.text)) continue;
		pieces.push(text.slice(from, token.start).trim());
		between.push(token.text);
		from = token.start + token.text.length;
	}
	pieces.push(text.slice(from).trim());
	return { pieces, between };
}

/** Returns whether the first and last characters are brackets that enclose everything else, regardless of type. */
export function isEnclosed(text: string): boolean {
	const list = tokens(text);
	if (list === null || list.length < 2) return false;
	const [first, last] = [list[0], list.at(-1)];
	if (first?.depth !== 0 || last?.depth !== 0) return false;
	// No token in between can be outside the brackets.
	return list.slice(1, -1).every((token) => token.depth > 0) && /[([{]|\\\{|\\langle/.test(first.text);
}
