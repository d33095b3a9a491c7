/**
 * Called with the start and end (exclusive) of a record, as byte offsets in the file. Line-based records also pass
 * their 1-based line number.
 */
export type FoundRecord = (start: number, end: number, line?: number) => void;

/** Finds record boundaries in a file that is read in chunks. Does not retain any bytes. */
export interface RecordSplitter {
	/** @param at file offset of the bytes */
	push(bytes: Uint8Array, at: number, found: FoundRecord): void;
	/**
	 * Signals the end of the input.
	 * @param at file size
	 */
	end(at: number, found: FoundRecord): void;
}

const code = (character: string): number => character.charCodeAt(0);
const newline = code('\n');
const carriageReturn = code('\r');
const quote = code('"');
const backslash = code('\\');
const comma = code(',');
const [braceOpen, braceClose, bracketOpen, bracketClose] = [code('{'), code('}'), code('['), code(']')];
const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** Splits the input into nonblank lines. */
export class LineSplits implements RecordSplitter {
	#start = -1;
	#line = 0;
	/** Offset of the first byte in the current line, or -1 if there is none. */
	#first = -1;

	push(bytes: Uint8Array, at: number, found: FoundRecord): void {
		if (this.#start < 0) this.#start = at;
		let from = 0;
		for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, from)) {
			if (this.#first < 0 && end > from) this.#first = bytes[from] as number;
			this.#tell(at + end, found);
			this.#start = at + end + 1;
			this.#first = -1;
			from = end + 1;
		}
		if (this.#first < 0 && from < bytes.length) this.#first = bytes[from] as number;
	}

	end(at: number, found: FoundRecord): void {
		if (this.#start >= 0 && at > this.#start) this.#tell(at, found);
		this.#start = at;
		this.#first = -1;
	}

	#tell(end: number, found: FoundRecord): void {
		this.#line++;
		const length = end - this.#start;
		if (length > 1 || (length === 1 && this.#first !== carriageReturn)) found(this.#start, end, this.#line);
	}
}

/**
 * Splits delimiter-separated records (RFC 4180). A line break inside quotes belongs to its field. A quote opens a
 * quoted field only at the start of the field; elsewhere, it is an ordinary character.
 */
export class SeparatedSplits implements RecordSplitter {
	readonly #delimiter: number;
	#start = -1;
	#any = false;
	#fieldStart = true;
	#quoted = false;
	/** Whether the previous byte closed a quote. If another quote follows, the two are one literal quote. */
	#closed = false;

	/** @param delimiter a single ASCII character */
	constructor(delimiter: string) {
		this.#delimiter = code(delimiter);
	}

	push(bytes: Uint8Array, at: number, found: FoundRecord): void {
		if (this.#start < 0) this.#start = at;
		for (let i = 0; i < bytes.length; i++) {
			const byte = bytes[i] as number;
			if (this.#quoted) {
				if (byte !== quote) continue;
				this.#quoted = false;
				this.#closed = true;
				continue;
			}
			if (byte === quote && (this.#fieldStart || this.#closed)) {
				this.#quoted = true;
				this.#any = true;
				this.#fieldStart = false;
				this.#closed = false;
				continue;
			}
			this.#closed = false;
			if (byte === newline) {
				if (this.#any) found(this.#start, at + i);
				this.#start = at + i + 1;
				this.#any = false;
				this.#fieldStart = true;
				continue;
			}
			if (byte !== carriageReturn) this.#any = true;
			this.#fieldStart = byte === this.#delimiter;
		}
	}

	end(at: number, found: FoundRecord): void {
		if (this.#any && this.#start >= 0) found(this.#start, at);
		this.#start = at;
		this.#any = false;
	}
}

/**
 * Splits a JSON document into rows: the elements of a top-level list; otherwise, the elements of the first list of
 * objects in a top-level object (`{"data": [{...}, ...]}`); otherwise, the document itself as the only row.
 */
export class JsonSplits implements RecordSplitter {
	/** Nesting depth of the rows, or null if not yet known. */
	#container: number | null;
	#depth: number;
	#inString = false;
	#escaped = false;
	/** Whether the previous byte opened a list. Its first element determines whether the list contains rows. */
	#candidate = false;
	#document = -1;
	#start = -1;
	/** Offset just past the last non-whitespace byte of the record. */
	#last = -1;
	#done = false;

	/** @param inside whether the input starts at a row rather than at the start of the document */
	constructor(inside = false) {
		this.#container = inside ? 1 : null;
		this.#depth = inside ? 1 : 0;
	}

	push(bytes: Uint8Array, at: number, found: FoundRecord): void {
		if (this.#done) return;
		for (let i = 0; i < bytes.length; i++) {
			const byte = bytes[i] as number;
			const place = at + i;
			if (this.#inString) {
				this.#last = place + 1;
				if (this.#escaped) this.#escaped = false;
				else if (byte === backslash) this.#escaped = true;
				else if (byte === quote) this.#inString = false;
				continue;
			}
			if (isSpace(byte)) continue;
			if (this.#document < 0) this.#document = place;
			if (this.#candidate) {
				this.#candidate = false;
				if (byte === braceOpen) this.#container = this.#depth;
			}
			const atRows = this.#container === this.#depth;
			if (atRows && (byte === comma || byte === bracketClose)) {
				if (this.#start >= 0) found(this.#start, this.#last);
				this.#start = -1;
				if (byte === bracketClose) {
					this.#done = true;
					return;
				}
				continue;
			}
			if (atRows && this.#start < 0) this.#start = place;
			this.#last = place + 1;
			if (byte === quote) this.#inString = true;
			else if (byte === braceOpen) this.#depth++;
			else if (byte === bracketOpen) {
				this.#depth++;
				if (this.#container === null && this.#depth === 1) this.#container = 1;
				else if (this.#container === null && this.#depth === 2) this.#candidate = true;
			} else if (byte === braceClose || byte === bracketClose) this.#depth--;
		}
	}

	end(at: number, found: FoundRecord): void {
		if (this.#done) return;
		this.#done = true;
		if (this.#container === null) {
			if (this.#document >= 0) found(this.#document, Math.min(at, this.#last));
		} else if (this.#start >= 0) found(this.#start, Math.min(at, this.#last));
	}
}
