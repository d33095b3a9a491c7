/** A field of a protobuf message, by its wire type. */
export type Field =
	| { readonly number: number; readonly kind: 'varint'; readonly value: number }
	| { readonly number: number; readonly kind: 'bytes'; readonly value: Uint8Array }
	| { readonly number: number; readonly kind: 'fixed32'; readonly value: Uint8Array }
	| { readonly number: number; readonly kind: 'fixed64'; readonly value: Uint8Array };

/** Yields the fields of a message in order. Fails with an Error if the bytes end within a field. */
export function* fieldsOf(bytes: Uint8Array): Generator<Field> {
	const reader = { at: 0 };
	const take = (length: number): Uint8Array => {
		if (length < 0 || reader.at + length > bytes.length) throw new Error('a message is truncated');
		reader.at += length;
		return bytes.subarray(reader.at - length, reader.at);
	};
	while (reader.at < bytes.length) {
		const key = varint(bytes, reader);
		const number = Math.floor(key / 8);
		switch (key % 8) {
			case 0:
				yield { number, kind: 'varint', value: varint(bytes, reader) };
				break;
			case 1:
				yield { number, kind: 'fixed64', value: take(8) };
				break;
			case 2:
				yield { number, kind: 'bytes', value: take(varint(bytes, reader)) };
				break;
			case 5:
				yield { number, kind: 'fixed32', value: take(4) };
				break;
			default:
				throw new Error('a message has an unknown wire type');
		}
	}
}

/**
 * Reads a varint as unsigned, below 2^53. Negative int64 values are returned as their two's complement, which callers
 * treat as invalid.
 */
function varint(bytes: Uint8Array, reader: { at: number }): number {
	let value = 0;
	let scale = 1;
	for (let i = 0; i < 10; i++) {
		const byte = bytes[reader.at++];
		if (byte === undefined) throw new Error('a message is truncated');
		value += (byte & 0x7f) * scale;
		if (byte < 0x80) return value;
		scale *= 128;
	}
	throw new Error('a varint is too long');
}

export function float32(bytes: Uint8Array): number {
	return new DataView(bytes.buffer, bytes.byteOffset, 4).getFloat32(0, true);
}

export function float64(bytes: Uint8Array): number {
	return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true);
}
