/** Tables that the metadata of one message may have: a table may be named from many places, and by itself. */
const maxTables = 100_000;

interface Message {
	readonly view: DataView;
	tables: number;
	/** Bytes of texts that may still be read: those of an honest message do not overlap. */
	texts: number;
}

/**
 * A table of a FlatBuffer, which is how Arrow writes metadata (https://flatbuffers.dev/internals). Everything is checked
 * where it is read: what is outside the bytes is a RangeError of DataView.
 */
export class FlatTable {
	readonly #message: Message;
	readonly #at: number;
	readonly #slots: number;
	readonly #slotBytes: number;

	private constructor(message: Message, at: number) {
		if (++message.tables > maxTables) throw new Error(`metadata with more than ${maxTables} tables`);
		this.#message = message;
		this.#at = at;
		this.#slots = at - message.view.getInt32(at, true);
		this.#slotBytes = message.view.getUint16(this.#slots, true);
	}

	/** The table that a buffer is about. */
	static root(bytes: Uint8Array): FlatTable {
		const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		return new FlatTable({ view, tables: 0, texts: bytes.byteLength }, view.getUint32(0, true));
	}

	/** @param field its number, from 0, as the schema of the table has it; also below */
	int(field: number, bytes: 1 | 2 | 4, absent = 0): number {
		const at = this.#place(field);
		if (at === null) return absent;
		const { view } = this.#message;
		return bytes === 1 ? view.getUint8(at) : bytes === 2 ? view.getInt16(at, true) : view.getInt32(at, true);
	}

	bool(field: number): boolean {
		return this.int(field, 1) !== 0;
	}

	/** A length or an offset of 64 bits. */
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
		if (begin + 4 + length > view.byteLength) throw new RangeError('a text beyond the metadata');
		this.#message.texts -= length;
		if (this.#message.texts < 0) throw new Error('metadata with texts that overlap');
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

	/** A list of pairs of lengths or offsets of 64 bits. */
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
		if (begin + 4 + count * stride > view.byteLength) throw new RangeError('a list beyond the metadata');
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
	if (size < 0 || !Number.isSafeInteger(size)) throw new Error(`a length of ${size}`);
	return size;
}
