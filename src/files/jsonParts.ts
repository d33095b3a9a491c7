import { jsonLimits } from '../base/decodingLimits.ts';
import { ListRuns, skipText } from './jsonRuns.ts';
import { type JsonStates, jsonStates } from './jsonStates.ts';

/**
 * Parts of a JSON value: all of it, the parts of each entry of a list, or some fields of an object. A value
 * whose type differs from the shape keeps its type: a list or object becomes empty, and any other value is kept.
 */
export type JsonShape = true | readonly [JsonShape] | { readonly [key: string]: JsonShape };

/** Returns the parts of a parsed value. */
export function partsOfValue(value: unknown, shape: JsonShape): unknown {
	if (shape === true || typeof value !== 'object' || value === null) return value;
	if (Array.isArray(value)) return Array.isArray(shape) ? value.map((entry) => partsOfValue(entry, shape[0])) : [];
	if (Array.isArray(shape)) return {};
	const fields = Object.entries(shape).filter(([key]) => Object.hasOwn(value, key));
	return Object.fromEntries(
		fields.map(([key, part]) => [key, partsOfValue((value as Record<string, unknown>)[key], part)]),
	);
}

/** A shape with its fields by name. */
interface Wanted {
	readonly whole: boolean;
	readonly entries: Wanted | null;
	readonly fields: ReadonlyMap<string, Wanted> | null;
	readonly longestKey: number;
}

function wanted(shape: JsonShape): Wanted {
	if (shape === true) return { whole: true, entries: null, fields: null, longestKey: 0 };
	if (Array.isArray(shape)) return { whole: false, entries: wanted(shape[0]), fields: null, longestKey: 0 };
	const fields = new Map(Object.entries(shape).map(([key, part]) => [key, wanted(part)]));
	return {
		whole: false,
		entries: null,
		fields,
		longestKey: Math.max(0, ...[...fields.keys()].map((key) => key.length)),
	};
}

const [quote, comma, colon, openArray, closeArray, openObject, closeObject] = [...'",:[]{}'].map((char) =>
	char.charCodeAt(0),
) as [number, number, number, number, number, number, number];
const backslash = 0x5c;
const decoder = new TextDecoder('utf-8');
const smallestScratch = 64 << 10;
/** Maximum depth of a shape. */
const deepestShape = 20;

/**
 * Extracts parts of JSON text without parsing the rest, which is only checked. Several times as fast as parsing if most
 * of the text is not needed. Defers to the parser if the result could differ from parsing everything: if the text is
 * invalid, or has escaped keys, bare NaN, too much nesting or too many values.
 */
export class JsonParts {
	readonly #wanted: Wanted;
	readonly #states: JsonStates = jsonStates();
	readonly #runs = new ListRuns();
	readonly #open = new Uint8Array(jsonLimits.depth);
	#bytes = Buffer.alloc(0);
	#pairs = new Uint16Array(0);
	#view = new DataView(new ArrayBuffer(0));
	#length = 0;
	#at = 0;
	#out: string[] = [];

	/** @param shape keys must be ASCII without characters that JSON escapes */
	constructor(shape: JsonShape) {
		this.#wanted = wanted(shape);
	}

	/**
	 * Returns the parts as JSON text, or null if the text must be parsed as a whole.
	 * @param parts UTF-8 text, in pieces
	 */
	of(parts: readonly Uint8Array[]): string | null {
		const length = parts.reduce((sum, part) => sum + part.length, 0);
		this.#fill(parts, length);
		if (length > jsonLimits.values && this.#values() > jsonLimits.values) return null;
		this.#at = 0;
		this.#out = [];
		this.#skipSpace();
		if (!this.#read(this.#wanted)) return null;
		this.#skipSpace();
		return this.#at === length ? this.#out.join('') : null;
	}

	/** Copies the text to a buffer that can be read two bytes at a time. */
	#fill(parts: readonly Uint8Array[], length: number): void {
		if (this.#bytes.length < length) {
			const size = Math.max(smallestScratch, 2 ** Math.ceil(Math.log2(length)));
			const buffer = new ArrayBuffer(size);
			this.#bytes = Buffer.from(buffer);
			this.#pairs = new Uint16Array(buffer);
			this.#view = new DataView(buffer);
		}
		let at = 0;
		for (const part of parts) {
			this.#bytes.set(part, at);
			at += part.length;
		}
		this.#length = length;
	}

	/** Returns an upper bound on the number of values, because strings are counted too. */
	#values(): number {
		let count = 1;
		for (let at = 0; at < this.#length; at++) {
			const byte = this.#bytes[at];
			if (byte === comma || byte === openArray || byte === openObject) count++;
		}
		return count;
	}

	#skipSpace(): void {
		for (; this.#at < this.#length; this.#at++) {
			const byte = this.#bytes[this.#at];
			if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d && byte !== 0x0a) break;
		}
	}

	/** Reads a value. Returns false if the text must be parsed as a whole. */
	#read({ whole, entries, fields, longestKey }: Wanted): boolean {
		const start = this.#at;
		const first = start < this.#length ? this.#bytes[start] : -1;
		if (!whole && first === openObject && fields !== null) return this.#readObject(fields, longestKey);
		if (!whole && first === openArray && entries !== null) return this.#readList(entries);
		if (!this.#skipValue()) return false;
		if (!whole && first === openObject) this.#out.push('{}');
		else if (!whole && first === openArray) this.#out.push('[]');
		else this.#out.push(decoder.decode(this.#bytes.subarray(start, this.#at)));
		return true;
	}

	#readObject(fields: ReadonlyMap<string, Wanted>, longestKey: number): boolean {
		this.#out.push('{');
		let any = false;
		const read = () => {
			const start = this.#at;
			if (this.#bytes[start] !== quote || !this.#skipValue()) return false;
			const end = this.#at;
			// An escaped key could be one of the fields.
			if (this.#bytes.subarray(start, end).includes(backslash)) return false;
			const key = end - start - 2 <= longestKey ? this.#bytes.toString('latin1', start + 1, end - 1) : '';
			this.#skipSpace();
			if (this.#at >= this.#length || this.#bytes[this.#at] !== colon) return false;
			this.#at++;
			this.#skipSpace();
			const part = fields.get(key);
			if (part === undefined) return this.#skipValue();
			this.#out.push(any ? `,"${key}":` : `"${key}":`);
			any = true;
			return this.#read(part);
		};
		const closed = this.#readEntries(closeObject, read);
		this.#out.push('}');
		return closed;
	}

	#readList(entries: Wanted): boolean {
		this.#out.push('[');
		let any = false;
		const closed = this.#readEntries(closeArray, () => {
			if (any) this.#out.push(',');
			any = true;
			return this.#read(entries);
		});
		this.#out.push(']');
		return closed;
	}

	/** Reads entries separated by commas, from the opening bracket to the closing one. */
	#readEntries(close: number, read: () => boolean): boolean {
		this.#at++;
		this.#skipSpace();
		if (this.#at < this.#length && this.#bytes[this.#at] === close) {
			this.#at++;
			return true;
		}
		for (;;) {
			if (this.#at >= this.#length || !read()) return false;
			this.#skipSpace();
			if (this.#at >= this.#length) return false;
			const byte = this.#bytes[this.#at++];
			if (byte === close) return true;
			if (byte !== comma) return false;
			this.#skipSpace();
		}
	}

	/** Moves to the end of a value. Returns false if the text is not valid there, or nested too deeply. */
	#skipValue(): boolean {
		const states = this.#states;
		const { classes, columns, next, nextPair, classShift, isText, stateShift, firstAction, actions } = states;
		const bytes = this.#bytes;
		const pairs = this.#pairs;
		const view = this.#view;
		const runs = this.#runs;
		const length = this.#length;
		const wholePairs = length >> 1;
		let state = states.value;
		let depth = 0;
		for (let at = this.#at; at < length; ) {
			if ((at & 1) === 0) {
				let pair = at >> 1;
				for (; pair < wholePairs; pair++) {
					const after = nextPair[state + (columns[pairs[pair] as number] as number)] as number;
					if (after >= firstAction) break;
					state = after;
				}
				at = pair << 1;
				if (isText[state >> stateShift] === 1) at = skipText(view, at, length);
				if (at >= length) break;
			}
			state = next[(state >> classShift) + (classes[bytes[at] as number] as number)] as number;
			at++;
			if (state < firstAction) continue;
			if (state === actions.close) {
				depth--;
				state = this.#open[depth - 1] === openArray ? states.afterInArray : states.afterInObject;
			} else if (state === actions.array || state === actions.object) {
				// Fields of the enclosing objects are nested, too.
				if (depth >= this.#open.length - deepestShape) return false;
				this.#open[depth++] = state === actions.array ? openArray : openObject;
				if (state === actions.object) {
					state = states.inObject;
					continue;
				}
				at = runs.skip(view, pairs, at, length);
				state = runs.state;
				continue;
			} else if (state === actions.endBefore) at--;
			else if (state !== actions.end) return false;
			if (depth > 0) continue;
			this.#at = at;
			return true;
		}
		// A top-level number has no end marker.
		return false;
	}
}
