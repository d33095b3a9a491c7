/** Field of an object to extract: its whole value, or each entry of the list or object that it contains. */
export interface CutField {
	readonly into: 'value' | 'entries';
	/** Maximum number of bytes to keep of each value. */
	readonly bytes: number;
}

/** Value in the text, which can be a copy or part of a chunk. */
export interface CutValue {
	readonly field: string;
	/** Key of the entry, without its quotation marks; null for a value and for an entry of a list. */
	readonly key: string | null;
	/** JSON text of the value or, if it exceeds the limit, its first bytes. */
	readonly bytes: Buffer;
	readonly whole: boolean;
	/** Position of the value in the text. */
	readonly start: number;
	readonly end: number;
}

const [quote, backslash, comma, colon, openList, closeList, openObject, closeObject] = [...'"\\,:[]{}'].map((char) =>
	char.charCodeAt(0),
) as [number, number, number, number, number, number, number, number];
const isSpace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
/** Maximum length in bytes of a key. Longer keys do not match any field. */
const longestKey = 256;
const deepest = 1 << 20;

/** Bytes with a special meaning inside a nested value. */
const structural = new Uint8Array(256);
for (const byte of [quote, openList, closeList, openObject, closeObject]) structural[byte] = 1;

/**
 * Extracts fields from a JSON object that arrives in chunks, so that an object of any size can be read with little
 * memory. Only strings and brackets are interpreted. Values are not validated; parse them to do so.
 */
export class JsonCutter {
	readonly #fields: ReadonlyMap<string, CutField>;
	readonly #take: (value: CutValue) => void;
	/** Position of the current chunk in the text. */
	#offset = 0;
	#depth = 0;
	#string = false;
	#escaped = false;
	/** Depth of the values to extract: 1, or 2 in a field that is split into entries. */
	#level = 0;
	/** Whether the entries at level 2 have no keys. */
	#list = false;
	#slot: 'key' | 'inKey' | 'colon' | 'value' | 'inValue' = 'value';
	#field = '';
	#key: string | null = null;
	/** Parts of the value or key being read, up to its limit. */
	#parts: Buffer[] = [];
	#kept = 0;
	#limit = 0;
	/** Start of the part in the current chunk; -1 if the value is not kept. */
	#from = -1;
	#start = 0;
	#ended = false;

	/** @param take called for each value; the bytes are valid only during the call */
	constructor(fields: Readonly<Record<string, CutField>>, take: (value: CutValue) => void) {
		this.#fields = new Map(Object.entries(fields));
		this.#take = take;
	}

	/** Whether the object is complete. */
	get ended(): boolean {
		return this.#ended;
	}

	/** Fails with SyntaxError if the text is not an object, or is nested more than a million levels deep. */
	push(chunk: Buffer): void {
		const { length } = chunk;
		for (let at = 0; at < length && !this.#ended; ) {
			if (this.#string) at = this.#readString(chunk, at);
			else {
				if (this.#depth > this.#level) while (at < length && structural[chunk[at] as number] === 0) at++;
				if (at < length) this.#read(chunk, at++);
			}
		}
		if (this.#from !== -1) {
			this.#keep(chunk, length);
			this.#from = 0;
		}
		this.#offset += length;
	}

	/** Returns the position after the string, or the end of the chunk. */
	#readString(chunk: Buffer, start: number): number {
		let at = start;
		if (this.#escaped) {
			this.#escaped = false;
			at++;
		}
		const { length } = chunk;
		for (; at < length; at++) {
			const byte = chunk[at];
			if (byte === backslash) at++;
			else if (byte === quote) {
				this.#string = false;
				if (this.#slot === 'inKey' && this.#depth === this.#level) this.#endKey(chunk, at);
				return at + 1;
			}
		}
		this.#escaped = at > length;
		return length;
	}

	/** Reads a byte outside strings. */
	#read(chunk: Buffer, at: number): void {
		const byte = chunk[at] as number;
		const here = this.#depth === this.#level;
		switch (byte) {
			case quote:
				if (here && this.#slot === 'key') this.#begin(at + 1, longestKey, 'inKey');
				else if (here && this.#slot === 'value') this.#beginValue(at);
				this.#string = true;
				break;
			case openObject:
			case openList:
				this.#open(byte, at, here);
				break;
			case closeObject:
			case closeList:
				if (here) this.#close(chunk, at);
				else this.#depth--;
				break;
			case comma:
				if (!here) break;
				this.#endValue(chunk, at);
				this.#slot = this.#level === 2 && this.#list ? 'value' : 'key';
				break;
			case colon:
				if (here && this.#slot === 'colon') this.#slot = 'value';
				break;
			default:
				if (here && this.#slot === 'value' && !isSpace(byte)) this.#beginValue(at);
		}
	}

	#open(byte: number, at: number, here: boolean): void {
		if (this.#depth >= deepest) throw new SyntaxError(`values are nested more than ${deepest} levels deep`);
		if (here && this.#level === 0) {
			if (byte !== openObject) throw new SyntaxError('not an object');
			this.#level = 1;
			this.#slot = 'key';
		} else if (here && this.#slot === 'value') {
			if (this.#level === 1 && this.#fields.get(this.#field)?.into === 'entries') {
				this.#level = 2;
				this.#list = byte === openList;
				this.#slot = this.#list ? 'value' : 'key';
				this.#key = null;
			} else this.#beginValue(at);
		}
		this.#depth++;
	}

	/** Ends the object, or the field that is split into entries. */
	#close(chunk: Buffer, at: number): void {
		this.#endValue(chunk, at);
		this.#depth--;
		this.#level--;
		this.#slot = 'inValue';
		this.#from = -1;
		if (this.#level <= 0) this.#ended = true;
	}

	#begin(at: number, limit: number, slot: 'inKey' | 'inValue'): void {
		this.#slot = slot;
		this.#parts = [];
		this.#kept = 0;
		this.#limit = limit;
		this.#from = at;
		this.#start = this.#offset + at;
	}

	#beginValue(at: number): void {
		if (this.#level === 0) throw new SyntaxError('not an object');
		const field = this.#fields.get(this.#field);
		const wanted = field !== undefined && (field.into === 'value' || this.#level === 2);
		if (wanted) this.#begin(at, field.bytes, 'inValue');
		else this.#slot = 'inValue';
	}

	#keep(chunk: Buffer, end: number): void {
		const part = chunk.subarray(this.#from, Math.min(end, this.#from + this.#limit - this.#kept));
		if (part.length > 0) this.#parts.push(part);
		this.#kept += part.length;
	}

	/** Returns the bytes kept of the value or key that ends here. */
	#text(): Buffer {
		return this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
	}

	#endKey(chunk: Buffer, at: number): void {
		this.#keep(chunk, at);
		const text = this.#text().toString('utf8');
		this.#from = -1;
		this.#slot = 'colon';
		if (this.#level === 1) this.#field = text;
		else this.#key = text;
	}

	#endValue(chunk: Buffer, at: number): void {
		if (this.#slot !== 'inValue' || this.#from === -1) return;
		this.#keep(chunk, at);
		this.#from = -1;
		const end = this.#offset + at;
		const bytes = this.#text();
		let { length } = bytes;
		const whole = end - this.#start <= this.#limit;
		while (whole && length > 0 && isSpace(bytes[length - 1] as number)) length--;
		const value = { field: this.#field, key: this.#level === 2 ? this.#key : null, start: this.#start, whole };
		this.#take({ ...value, bytes: bytes.subarray(0, length), end: whole ? this.#start + length : end });
	}
}
