/** Nesting beyond this is no answer. */
const mostDepth = 60;

const closers: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** Index of what closes the bracket at `open`, counting its own kind alone; -1: nothing does. */
export function groupEnd(text: string, open: number): number {
	const opener = text[open] as string;
	const closer = closers[opener];
	let depth = 0;
	for (let i = open; i < text.length; i++) {
		const c = text[i];
		if (c === '\\') i++;
		else if (c === opener) {
			if (++depth > 4 * mostDepth) return -1;
		} else if (c === closer && --depth === 0) return i;
	}
	return -1;
}

export interface Piece {
	readonly text: string;
	readonly start: number;
	readonly end: number;
}

/** Length of a LaTeX command at `at`, which is a backslash: `\frac`, `\{`. */
function commandLength(text: string, at: number): number {
	let end = at + 1;
	while (end < text.length && /[a-zA-Z]/.test(text[end] as string)) end++;
	return Math.max(end - at, 2);
}

export interface Token {
	readonly text: string;
	readonly start: number;
	/** Depth of brackets around it; the brackets themselves have that of what is around them. */
	readonly depth: number;
}

/**
 * Commands and characters with the depth of their brackets: `( ) [ ] { } \{ \} \langle \rangle` and environments. An
 * interval closes with another bracket than it opens, so kinds are not matched. null: too deep, or closed more than opened.
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
		if (opens && ++depth > mostDepth) return null;
		i += length;
	}
	return depth === 0 ? list : null;
}

/** Splits where a token outside all brackets is one of the separators. The separators are given beside the pieces. */
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

/** Whether the first and the last character are brackets of one another, of any kind. */
export function isEnclosed(text: string): boolean {
	const list = tokens(text);
	if (list === null || list.length < 2) return false;
	const [first, last] = [list[0], list.at(-1)];
	if (first?.depth !== 0 || last?.depth !== 0) return false;
	// Between them nothing is outside.
	return list.slice(1, -1).every((token) => token.depth > 0) && /[([{]|\\\{|\\langle/.test(first.text);
}
