/** A field of a protobuf message, by its wire type. */
export type Field =
	| { readonly number: number; readonly kind: 'varint'; readonly value: number }
	| { readonly number: number; readonly kind: 'bytes'; readonly value: Uint8Array }
	| { readonly number: number; readonly kind: 'fixed32'; readonly value: Uint8Array }
	| { readonly number: number; readonly kind: 'fixed64'; readonly value: Uint8Array };

/** Yields the fields of a message in order. Fails with an Error if the bytes end within a field. */
export function* fieldsOf(bytes: Uint8Array): Generator<Field> {
	const reader = new MessageReader(bytes, 0, bytes.length);
	while (reader.next()) {
		const { number, wire } = reader;
		if (wire === wires.varint) yield { number, kind: 'varint', value: reader.value };
		else yield { number, kind: kinds[wire], value: bytes.subarray(reader.start, reader.end) };
	}
}

export const wires = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;
type Wire = (typeof wires)[keyof typeof wires];
const kinds = { [wires.fixed64]: 'fixed64', [wires.bytes]: 'bytes', [wires.fixed32]: 'fixed32' } as const;

/** Reads a message in a byte range field by field, without creating objects, because files have millions of fields. */
export class MessageReader {
	readonly #bytes: Uint8Array;
	readonly #to: number;
	#at: number;
	/** The current field: its number and wire type. */
	number = 0;
	wire: Wire = wires.varint;
	/** Value of a varint, read as unsigned. A negative int64 is its two's complement, which callers treat as invalid. */
	value = 0;
	/** Location of the value, unless it is a varint. */
	start = 0;
	end = 0;

	constructor(bytes: Uint8Array, from: number, to: number) {
		this.#bytes = bytes;
		this.#at = from;
		this.#to = to;
	}

	/** Moves to the next field. Returns false at the end, and fails with an Error if the bytes end within the field. */
	next(): boolean {
		if (this.#at >= this.#to) return false;
		const key = this.#varint();
		this.number = Math.floor(key / 8);
		const wire = key % 8;
		if (wire === wires.varint) this.value = this.#varint();
		else if (wire === wires.fixed64) this.#take(8);
		else if (wire === wires.bytes) this.#take(this.#varint());
		else if (wire === wires.fixed32) this.#take(4);
		else throw new Error('a message has an unknown wire type');
		this.wire = wire;
		return true;
	}

	#take(length: number): void {
		this.start = this.#at;
		this.end = this.#at + length;
		if (this.end > this.#to) throw new Error('a message is truncated');
		this.#at = this.end;
	}

	#varint(): number {
		let value = 0;
		let scale = 1;
		for (let i = 0; i < 10; i++) {
			if (this.#at >= this.#to) throw new Error('a message is truncated');
			const byte = this.#bytes[this.#at++] as number;
			value += (byte & 0x7f) * scale;
			if (byte < 0x80) return value;
			scale *= 128;
		}
		throw new Error('a varint is too long');
	}
}

const scratch = new DataView(new ArrayBuffer(8));

export function float32(bytes: Uint8Array, at = 0): number {
	for (let i = 0; i < 4; i++) scratch.setUint8(i, bytes[at + i] as number);
	return scratch.getFloat32(0, true);
}

export function float64(bytes: Uint8Array, at = 0): number {
	for (let i = 0; i < 8; i++) scratch.setUint8(i, bytes[at + i] as number);
	return scratch.getFloat64(0, true);
}
