/**
 * Maximum number of tables in a message's metadata. Needed because a table can be referenced from many places, and even
 * by itself.
 */
const maxTables = 100_000;

interface Message {
	readonly view: DataView;
	tables: number;
	/** Remaining bytes of strings that can be read; strings in a valid message do not overlap. */
	texts: number;
}

/**
 * A table in a FlatBuffer, the encoding of Arrow metadata (https://flatbuffers.dev/internals). Everything is checked on
 * access: reading out of bounds throws DataView's RangeError.
 */
export class FlatTable {
	readonly #message: Message;
	readonly #at: number;
	readonly #slots: number;
	readonly #slotBytes: number;

	private constructor(message: Message, at: number) {
		if (++message.tables > maxTables) throw new Error(`its metadata has more than ${maxTables} tables`);
		this.#message = message;
		this.#at = at;
		this.#slots = at - message.view.getInt32(at, true);
		this.#slotBytes = message.view.getUint16(this.#slots, true);
	}

	/** Returns the root table of a buffer. */
	static root(bytes: Uint8Array): FlatTable {
		const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		return new FlatTable({ view, tables: 0, texts: bytes.byteLength }, view.getUint32(0, true));
	}

	/** @param field 0-based field number, as in the table's schema; the same applies to the methods below */
	int(field: number, bytes: 1 | 2 | 4, absent = 0): number {
		const at = this.#place(field);
		if (at === null) return absent;
		const { view } = this.#message;
		return bytes === 1 ? view.getUint8(at) : bytes === 2 ? view.getInt16(at, true) : view.getInt32(at, true);
	}

	bool(field: number): boolean {
		return this.int(field, 1) !== 0;
	}

	/** Reads a 64-bit length or offset. */
	size(field: number): number {
		const at = this.#place(field);
		return at === null ? 0 : sizeAt(this.#message.view, at);
	}

	text(field: number): string {
		const at = this.#place(field);
		if (at === null) return '';
		const { view } = this.#message;
		const begin = this.#follow(at);
		const length = view.getUint32(begin, true);
		if (begin + 4 + length > view.byteLength) throw new RangeError('a string extends beyond the metadata');
		this.#message.texts -= length;
		if (this.#message.texts < 0) throw new Error('its metadata has overlapping strings');
		return new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + begin + 4, length));
	}

	table(field: number): FlatTable | null {
		const at = this.#place(field);
		return at === null ? null : new FlatTable(this.#message, this.#follow(at));
	}

	tables(field: number): FlatTable[] {
		const [begin, count] = this.#vector(field, 4);
		return Array.from({ length: count }, (_, i) => new FlatTable(this.#message, this.#follow(begin + 4 * i)));
	}

	/** Reads a list of pairs of 64-bit lengths or offsets. */
	pairs(field: number): (readonly [number, number])[] {
		const [begin, count] = this.#vector(field, 16);
		const { view } = this.#message;
		return Array.from({ length: count }, (_, i) => {
			const at = begin + 16 * i;
			return [sizeAt(view, at), sizeAt(view, at + 8)] as const;
		});
	}

	#vector(field: number, stride: number): readonly [begin: number, count: number] {
		const at = this.#place(field);
		if (at === null) return [0, 0];
		const { view } = this.#message;
		const begin = this.#follow(at);
		const count = view.getUint32(begin, true);
		if (begin + 4 + count * stride > view.byteLength) throw new RangeError('a list extends beyond the metadata');
		return [begin + 4, count];
	}

	#follow(at: number): number {
		return at + this.#message.view.getUint32(at, true);
	}

	#place(field: number): number | null {
		const slot = 4 + 2 * field;
		if (slot >= this.#slotBytes) return null;
		const offset = this.#message.view.getUint16(this.#slots + slot, true);
		return offset === 0 ? null : this.#at + offset;
	}
}

function sizeAt(view: DataView, at: number): number {
	const size = Number(view.getBigInt64(at, true));
	if (size < 0 || !Number.isSafeInteger(size)) throw new Error(`a length is ${size}`);
	return size;
}
