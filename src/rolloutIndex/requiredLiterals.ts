import type { LiteralBytes } from './indexTasks.ts';

/**
 * Returns strings such that every match of an expression contains at least one of them, or null if no such strings can
 * be determined. Returns null for unsupported syntax, which makes the search slower but never loses a hit.
 */
export function requiredTexts(source: string): readonly string[] | null {
	const parser = new Parser(source);
	const found = parser.alternatives();
	return parser.failed || !parser.atEnd ? null : found;
}

/**
 * What a part of an expression matches: exactly one string, something that contains one of several strings, or neither.
 */
type Part =
	| { readonly kind: 'text'; readonly text: string }
	| { readonly kind: 'holds'; readonly texts: readonly string[] | null }
	/** Matches nothing by itself: an anchor. */
	| { readonly kind: 'empty' };

const unknown: Part = { kind: 'holds', texts: null };
const maxAlternatives = 20;

/** Returns the better filter: the one whose shortest string is longer. */
function better(a: readonly string[] | null, b: readonly string[] | null): readonly string[] | null {
	if (a === null) return b;
	if (b === null) return a;
	const shortest = (texts: readonly string[]) => Math.min(...texts.map(({ length }) => length));
	return shortest(b) > shortest(a) ? b : a;
}

/** Parses JavaScript regular expressions with the u flag, as far as needed to find literals. */
class Parser {
	readonly #source: string;
	#at = 0;
	#depth = 0;
	failed = false;

	constructor(source: string) {
		this.#source = source;
	}

	get atEnd(): boolean {
		return this.#at >= this.#source.length;
	}

	alternatives(): readonly string[] | null {
		if (++this.#depth > 100) {
			this.failed = true;
			return null;
		}
		let all: readonly string[] | null = [];
		do {
			const texts = this.#sequence();
			all = all === null || texts === null ? null : [...all, ...texts];
		} while (this.#take('|'));
		this.#depth--;
		return all !== null && all.length > maxAlternatives ? null : all;
	}

	#sequence(): readonly string[] | null {
		let best: readonly string[] | null = null;
		let text = '';
		const end = () => {
			if (text !== '') best = better(best, [text]);
			text = '';
		};
		while (!this.atEnd && !this.failed && !'|)'.includes(this.#source[this.#at] as string)) {
			const part = this.#atom();
			const { min, exact } = this.#quantifier();
			if (part.kind === 'empty') continue;
			if (part.kind === 'text' && exact && min === 1) {
				text += part.text;
				continue;
			}
			if (part.kind === 'text' && min > 0) {
				// "ab+c": the first b follows the a, and the last one precedes the c.
				text += part.text;
				end();
				text = part.text;
				continue;
			}
			end();
			if (part.kind === 'holds' && min > 0) best = better(best, part.texts);
		}
		end();
		return best;
	}

	#atom(): Part {
		const character = this.#character();
		switch (character) {
			case '^':
			case '$':
				return { kind: 'empty' };
			case '.':
				return unknown;
			case '[':
				return this.#class();
			case '(':
				return this.#group();
			case '\\':
				return this.#escape();
			case '*':
			case '+':
			case '?':
			case '{':
			case '}':
			case ']':
				this.failed = true;
				return unknown;
			default:
				return { kind: 'text', text: character };
		}
	}

	#group(): Part {
		let counts = true;
		let empty = false;
		if (this.#take('?')) {
			if (this.#take('<=') || this.#take('=')) empty = true;
			else if (this.#take('<!') || this.#take('!')) {
				empty = true;
				counts = false;
			} else if (this.#take('<')) {
				while (!this.atEnd && this.#character() !== '>');
			} else if (!this.#take(':')) {
				// Modifiers change how letters are compared.
				this.failed = true;
			}
		}
		const texts = this.alternatives();
		if (!this.#take(')')) this.failed = true;
		// Text in a lookahead is not necessarily part of the match, but it is part of the searched text.
		if (empty) return counts && texts !== null ? { kind: 'holds', texts } : { kind: 'empty' };
		return { kind: 'holds', texts };
	}

	#class(): Part {
		while (!this.atEnd) {
			const character = this.#character();
			if (character === ']') return unknown;
			if (character === '\\') this.#character();
		}
		this.failed = true;
		return unknown;
	}

	#escape(): Part {
		const character = this.#character();
		switch (character) {
			case 'b':
			case 'B':
				return { kind: 'empty' };
			case 'n':
				return { kind: 'text', text: '\n' };
			case 't':
				return { kind: 'text', text: '\t' };
			case 'r':
				return { kind: 'text', text: '\r' };
			case 'p':
			case 'P':
			case 'k':
				if (this.#take('{')) while (!this.atEnd && this.#character() !== '}');
				else if (this.#take('<')) while (!this.atEnd && this.#character() !== '>');
				return unknown;
			case 'u':
				if (this.#take('{')) while (!this.atEnd && this.#character() !== '}');
				else this.#at += 4;
				return unknown;
			case 'x':
				this.#at += 2;
				return unknown;
			case 'c':
				this.#at += 1;
				return unknown;
			default:
				if (/[0-9]/.test(character)) {
					while (/[0-9]/.test(this.#source[this.#at] ?? '')) this.#at++;
					return unknown;
				}
				return /[a-zA-Z]/.test(character) ? unknown : { kind: 'text', text: character };
		}
	}

	#quantifier(): { readonly min: number; readonly exact: boolean } {
		const quantifier = /^(?:[*+?]|\{(\d+)(,\d*)?\})\??/.exec(this.#source.slice(this.#at, this.#at + 40));
		if (quantifier === null) return { min: 1, exact: true };
		this.#at += quantifier[0].length;
		const sign = quantifier[0][0];
		if (sign === '+') return { min: 1, exact: false };
		if (sign !== '{') return { min: 0, exact: false };
		const min = Number(quantifier[1]);
		return { min, exact: min === 1 && quantifier[2] === undefined };
	}

	#character(): string {
		const code = this.#source.codePointAt(this.#at);
		if (code === undefined) {
			this.failed = true;
			return '';
		}
		const character = String.fromCodePoint(code);
		this.#at += character.length;
		return character;
	}

	#take(text: string): boolean {
		if (!this.#source.startsWith(text, this.#at)) return false;
		this.#at += text.length;
		return true;
	}
}

const shortestLiteral = 3;

/**
 * Runs of characters that all JSON writers encode identically. Besides their other case, k and s also match the Kelvin
 * sign and the long s, which are not ASCII. In `messages`, call arguments are reformatted, so numbers and the text
 * between strings can differ.
 */
const safeRuns = {
	text: { exact: /[ !#-%(-.0-;=?-[\]-~]+/g, anyCase: /[ !#-%(-.0-;=?-[\]-jl-rt-~]+/g },
	messages: { exact: /[ !#-%(-+\-.;=?-Z^-z|~]+/g, anyCase: /[ !#-%(-+\-.;=?-Z^-jl-rt-z|~]+/g },
} as const;

/** Words that readers insert: a placeholder for a part of a message, and the value of NaN. */
const insertedWords = ['part', 'null'];

/**
 * Returns byte sequences such that the JSON encoding of any string that contains one of `texts` contains at least one
 * of the sequences, or null if none can be determined. From each text, takes the longest run of characters that all
 * JSON writers encode identically: printable ASCII without quotes, backslashes and slashes, and without `<`, `>`, `&`,
 * `'`, which some writers escape. If there is no such run of at least three characters, the text is searched for as
 * UTF-8 and as \u escapes, with hex digits in both cases.
 * @param stored how the strings are stored: as plain strings, or in messages whose calls have JSON arguments
 */
export function literalBytes(
	texts: readonly string[] | null,
	caseSensitive: boolean,
	stored: keyof typeof safeRuns = 'text',
): LiteralBytes[] | null {
	if (texts === null || texts.length === 0) return null;
	const all: LiteralBytes[] = [];
	const { exact, anyCase } = safeRuns[stored];
	for (const text of texts) {
		const runs = (caseSensitive ? text.match(exact) : text.replace(/[KS]/g, '"').match(anyCase)) ?? [];
		const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), '');
		if (longest.length >= shortestLiteral) {
			const literal = caseSensitive ? longest : longest.toLowerCase();
			if (stored === 'messages' && insertedWords.some((word) => word.includes(literal))) return null;
			all.push({ bytes: Buffer.from(literal), ignoreCase: !caseSensitive });
			continue;
		}
		const foreign = (text.match(/\P{ASCII}+/gu) ?? []).reduce(
			(best, run) => (run.length > best.length ? run : best),
			'',
		);
		if (foreign === '' || (!caseSensitive && /\p{Cased}|\p{M}/u.test(foreign)) || !foreign.isWellFormed()) return null;
		if (Buffer.byteLength(foreign) < shortestLiteral) return null;
		// Invalid bytes are read as U+FFFD, and values that are nested too deeply as an ellipsis.
		if (/[\uFFFD…]/.test(foreign)) return null;
		const escaped = [...Array(foreign.length).keys()]
			.map((i) => `\\u${foreign.charCodeAt(i).toString(16).padStart(4, '0')}`)
			.join('');
		all.push({ bytes: Buffer.from(foreign), ignoreCase: false });
		all.push({ bytes: Buffer.from(escaped), ignoreCase: true });
	}
	return all;
}
