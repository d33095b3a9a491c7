import { PythonCall } from './pythonValue.ts';

/** Parse error with its position. */
export class LiteralFault extends Error {
	override readonly name = 'LiteralFault';
	/** UTF-16 offset. */
	readonly offset: number;

	constructor(message: string, offset: number) {
		super(message);
		this.offset = offset;
	}
}

export interface LiteralLimits {
	/** Maximum bracket nesting depth. */
	readonly depth: number;
	/** Maximum number of values. */
	readonly values: number;
}

export const literalLimits: LiteralLimits = { depth: 200, values: 1_000_000 };

/** Dialect differences: in `json`, `\/` is a slash, and `\u` surrogate pairs are combined into one character. */
export type Dialect = 'python' | 'json';

const number =
	/[+-]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)/y;
const name = /[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)*/uy;
const quote = /(?:[rRbBuU]{0,2})('''|"""|'|")/y;
const constants: ReadonlyMap<string, unknown> = new Map<string, unknown>([
	['None', null],
	['null', null],
	['True', true],
	['true', true],
	['False', false],
	['false', false],
	['nan', Number.NaN],
	['NaN', Number.NaN],
	['inf', Number.POSITIVE_INFINITY],
	['Infinity', Number.POSITIVE_INFINITY],
	['Ellipsis', null],
]);
const simpleEscapes: Readonly<Record<string, string>> = {
	n: '\n',
	t: '\t',
	r: '\r',
	a: '\x07',
	b: '\b',
	f: '\f',
	v: '\v',
	'\\': '\\',
	"'": "'",
	'"': '"',
	'\n': '',
};
/**
 * Maximum length of the `repr` of an object without a literal form, such as `<Role.USER: 'user'>`, which is kept as
 * text.
 */
const opaqueLimit = 2000;

/**
 * Parses JSON and Python literals as written by `repr`: None, booleans, numbers, strings, lists, tuples, sets,
 * dictionaries, and calls such as `AIMessage(content='...')`, whose name and arguments are kept. Nothing is evaluated:
 * names are not looked up and operators are not applied. Throws {@link LiteralFault} for anything else. Takes linear
 * time.
 */
export class LiteralReader {
	readonly text: string;
	readonly #dialect: Dialect;
	readonly #limits: LiteralLimits;
	#at: number;
	#values = 0;

	constructor(text: string, start = 0, options: { readonly dialect?: Dialect; readonly limits?: LiteralLimits } = {}) {
		this.text = text;
		this.#at = start;
		this.#dialect = options.dialect ?? 'python';
		this.#limits = options.limits ?? literalLimits;
	}

	/** UTF-16 offset of the next character. */
	get offset(): number {
		return this.#at;
	}

	/** Parses one value. Throws {@link LiteralFault}. */
	value(): unknown {
		return this.#value(0);
	}

	/**
	 * Parses a list element by element, so that the elements before an error remain available if the list is truncated or
	 * damaged.
	 * @param take receives each element and its offset; returns false to stop
	 * @returns the error if the list is incomplete, otherwise null
	 */
	list(take: (value: unknown, offset: number) => boolean): LiteralFault | null {
		try {
			this.#skip();
			if (this.text[this.#at] !== '[') return new LiteralFault('Not a list', this.#at);
			this.#at++;
			for (;;) {
				this.#skip();
				if (this.text[this.#at] === ']') {
					this.#at++;
					return null;
				}
				const offset = this.#at;
				if (!take(this.#value(1), offset)) return null;
				this.#separator(']');
			}
		} catch (error) {
			if (error instanceof LiteralFault) return error;
			throw error;
		}
	}

	/** Returns whether only whitespace remains. */
	atEnd(): boolean {
		this.#skip();
		return this.#at >= this.text.length;
	}

	#value(depth: number): unknown {
		this.#skip();
		const start = this.#at;
		if (depth > this.#limits.depth) throw new LiteralFault(`Nested more than ${this.#limits.depth} levels deep`, start);
		if (++this.#values > this.#limits.values) throw new LiteralFault(`More than ${this.#limits.values} values`, start);
		const first = this.text[start];
		switch (first) {
			case undefined:
				throw new LiteralFault('Unexpected end of text, expected a value', start);
			case '[':
				this.#at++;
				return this.#items(']', depth);
			case '(':
				this.#at++;
				return this.#parenthesised(depth);
			case '{':
				this.#at++;
				return this.#braces(depth);
			case '<':
				return this.#opaque();
		}
		if (this.#match(quote) !== null) {
			this.#at = start;
			return this.#strings();
		}
		const digits = this.#match(number);
		if (digits !== null && digits !== '') return this.#number(digits, start);
		if (first === '-' && this.text.startsWith('inf', start + 1)) {
			this.#at = start + 4;
			return Number.NEGATIVE_INFINITY;
		}
		return this.#named(depth, start);
	}

	#number(digits: string, start: number): number {
		const plain = digits.replaceAll('_', '');
		const value = /^[+-]0[xob]/i.test(plain) ? Number(plain.slice(1)) * (plain[0] === '-' ? -1 : 1) : Number(plain);
		if (Number.isNaN(value) || /[\p{L}\p{N}]/u.test(this.text[this.#at] ?? '')) {
			throw new LiteralFault('Invalid number', start);
		}
		return value;
	}

	#named(depth: number, start: number): unknown {
		const found = this.#match(name);
		if (found === null) throw new LiteralFault(`Unexpected ${shown(this.text, start)}, expected a value`, start);
		this.#skip();
		if (this.text[this.#at] === '(') {
			this.#at++;
			return this.#arguments(found, depth, start);
		}
		if (constants.has(found)) return constants.get(found);
		throw new LiteralFault(`Unexpected name ${found.slice(0, 60)}, expected a value`, start);
	}

	#arguments(called: string, depth: number, start: number): PythonCall {
		const positional: unknown[] = [];
		const named: Record<string, unknown> = Object.create(null);
		for (;;) {
			this.#skip();
			if (this.text[this.#at] === ')') {
				this.#at++;
				return new PythonCall(called, positional, named, start);
			}
			const at = this.#at;
			const key = this.#match(name);
			if (key !== null) this.#skip();
			if (key !== null && this.text[this.#at] === '=' && this.text[this.#at + 1] !== '=') {
				this.#at++;
				named[key] = this.#value(depth + 1);
			} else {
				this.#at = at;
				positional.push(this.#value(depth + 1));
			}
			this.#separator(')');
		}
	}

	#items(end: ']' | ')' | '}', depth: number): unknown[] {
		const items: unknown[] = [];
		for (;;) {
			this.#skip();
			if (this.text[this.#at] === end) {
				this.#at++;
				return items;
			}
			items.push(this.#value(depth + 1));
			this.#separator(end);
		}
	}

	/** Parses a tuple, or a parenthesized value. */
	#parenthesised(depth: number): unknown {
		const start = this.#at;
		const items = this.#items(')', depth);
		const lone = items.length === 1 && !/,\s*\)$/.test(this.text.slice(Math.max(start, this.#at - 20), this.#at));
		return lone ? items[0] : items;
	}

	/** Parses a dictionary or a set; sets are returned as lists. */
	#braces(depth: number): unknown {
		this.#skip();
		const table: Record<string, unknown> = Object.create(null);
		if (this.text[this.#at] === '}') {
			this.#at++;
			return table;
		}
		const members: unknown[] = [];
		for (let first = true; ; first = false) {
			this.#skip();
			if (this.text[this.#at] === '}') {
				this.#at++;
				return members.length > 0 ? members : table;
			}
			const at = this.#at;
			const key = this.#value(depth + 1);
			this.#skip();
			if (this.text[this.#at] === ':') {
				if (members.length > 0) throw new LiteralFault('Unexpected key in a set', at);
				this.#at++;
				table[keyText(key)] = this.#value(depth + 1);
			} else {
				if (!first && members.length === 0) throw new LiteralFault('Missing value for a key', this.#at);
				members.push(key);
			}
			this.#separator('}');
		}
	}

	#separator(end: string): void {
		this.#skip();
		const next = this.text[this.#at];
		if (next === ',') this.#at++;
		else if (next !== end) {
			if (next === undefined) throw new LiteralFault(`Unexpected end of text, expected "${end}"`, this.#at);
			throw new LiteralFault(`Unexpected ${shown(this.text, this.#at)}, expected "," or "${end}"`, this.#at);
		}
	}

	/** Returns the text of an opaque value such as `<class 'list'>` or `<Role.USER: 'user'>`. */
	#opaque(): string {
		const start = this.#at;
		let depth = 0;
		for (let at = start; at < this.text.length && at - start < opaqueLimit; at++) {
			const character = this.text[at];
			if (character === '<') depth++;
			if (character === '>' && --depth === 0) {
				this.#at = at + 1;
				return this.text.slice(start, at + 1);
			}
		}
		throw new LiteralFault('Unexpected "<", expected a value', start);
	}

	/** Parses adjacent strings, which are concatenated. */
	#strings(): string {
		const parts: string[] = [];
		for (;;) {
			const start = this.#at;
			const prefix = this.#match(quote);
			if (prefix === null) {
				this.#at = start;
				return parts.length === 1 ? (parts[0] as string) : parts.join('');
			}
			const mark = prefix.replace(/^[a-z]+/i, '');
			parts.push(this.#string(mark, /r/i.test(prefix), start));
			if (this.#dialect === 'json') return parts[0] as string;
			this.#skip();
		}
	}

	#string(mark: string, raw: boolean, start: number): string {
		const { text } = this;
		const parts: string[] = [];
		const long = mark.length === 3;
		const special = mark[0] === "'" ? /['\\\n]/g : /["\\\n]/g;
		for (let from = this.#at; ; ) {
			special.lastIndex = from;
			const at = special.exec(text)?.index;
			if (at === undefined) throw new LiteralFault('Unterminated string', start);
			const character = text[at];
			if (character === '\n' && !long) throw new LiteralFault('Unterminated string on this line', start);
			if (character === '\\') {
				parts.push(text.slice(from, at));
				from = at + 2;
				if (raw) parts.push(text.slice(at, from));
				else from = this.#escape(at, parts);
				continue;
			}
			if (character === '\n' || !text.startsWith(mark, at)) {
				parts.push(text.slice(from, at + 1));
				from = at + 1;
				continue;
			}
			parts.push(text.slice(from, at));
			this.#at = at + mark.length;
			return parts.join('');
		}
	}

	/** Parses the escape at `at`; returns the offset after it. */
	#escape(at: number, parts: string[]): number {
		const { text } = this;
		const next = text[at + 1] ?? '';
		const simple = Object.hasOwn(simpleEscapes, next) ? simpleEscapes[next] : undefined;
		if (simple !== undefined) {
			parts.push(simple);
			return at + 2;
		}
		const digits = { x: 2, u: 4, U: 8 }[next];
		if (digits !== undefined) {
			const hex = text.slice(at + 2, at + 2 + digits);
			const code = /^[0-9a-fA-F]+$/.test(hex) && hex.length === digits ? Number.parseInt(hex, 16) : -1;
			if (code < 0 || code > 0x10ffff) throw new LiteralFault(`"\\${next}" must be followed by ${digits} digits`, at);
			parts.push(String.fromCodePoint(code));
			return at + 2 + digits;
		}
		if (this.#dialect === 'json' && next === '/') {
			parts.push('/');
			return at + 2;
		}
		const octal = /^[0-7]{1,3}/.exec(text.slice(at + 1, at + 4));
		if (octal) {
			parts.push(String.fromCharCode(Number.parseInt(octal[0], 8)));
			return at + 1 + octal[0].length;
		}
		if (next === '') throw new LiteralFault('Unexpected end of text in a string', at);
		// Python keeps the backslash of an invalid escape.
		parts.push(`\\${next}`);
		return at + 2;
	}

	/** Skips whitespace, comments, and line continuations. */
	#skip(): void {
		const { text } = this;
		for (;;) {
			const code = text.charCodeAt(this.#at);
			if (code === 32 || (code >= 9 && code <= 13)) this.#at++;
			else if (code === 92 && /^\\\r?\n/.test(text.slice(this.#at, this.#at + 3))) this.#at += 2;
			else if (code === 35) {
				const end = text.indexOf('\n', this.#at);
				this.#at = end === -1 ? text.length : end;
			} else return;
		}
	}

	#match(pattern: RegExp): string | null {
		pattern.lastIndex = this.#at;
		const found = pattern.exec(this.text);
		if (found === null) return null;
		this.#at = pattern.lastIndex;
		return found[0];
	}
}

function keyText(key: unknown): string {
	if (typeof key === 'string') return key;
	if (key === null) return 'None';
	if (typeof key === 'number') return String(key);
	if (typeof key === 'boolean') return key ? 'True' : 'False';
	return JSON.stringify(key) ?? '';
}

function shown(text: string, at: number): string {
	return JSON.stringify(text.slice(at, at + 1));
}
