const utf8 = new TextEncoder();

/**
 * Writes protocol buffer messages (wire format: protobuf.dev/programming-guides/encoding). Supports only the subset
 * that ONNX needs.
 */
export class ProtoWriter {
	#chunks: Uint8Array[] = [];
	#pending: number[] = [];
	#length = 0;

	#varint(n: number): void {
		if (n < 0) {
			// Negative integers are encoded as 64-bit two's complement, which always takes ten bytes.
			let v = BigInt.asUintN(64, BigInt(n));
			for (; v > 127n; v >>= 7n) this.#pending.push(Number(v & 127n) | 128);
			this.#pending.push(Number(v));
			return;
		}
		let v = n;
		for (; v > 127; v = Math.floor(v / 128)) this.#pending.push((v % 128) | 128);
		this.#pending.push(v);
	}

	#flush(): void {
		if (this.#pending.length === 0) return;
		this.#append(Uint8Array.from(this.#pending));
		this.#pending = [];
	}

	#append(bytes: Uint8Array): void {
		this.#chunks.push(bytes);
		this.#length += bytes.length;
	}

	integer(field: number, value: number): this {
		this.#varint(field * 8);
		this.#varint(value);
		return this;
	}

	/** Writes a 32-bit float. */
	float(field: number, value: number): this {
		this.#varint(field * 8 + 5);
		this.#pending.push(...new Uint8Array(Float32Array.of(value).buffer));
		return this;
	}

	bytes(field: number, value: Uint8Array): this {
		this.#varint(field * 8 + 2);
		this.#varint(value.length);
		this.#flush();
		this.#append(value);
		return this;
	}

	text(field: number, value: string): this {
		return this.bytes(field, utf8.encode(value));
	}

	message(field: number, value: ProtoWriter): this {
		value.#flush();
		this.#varint(field * 8 + 2);
		this.#varint(value.#length);
		this.#flush();
		for (const chunk of value.#chunks) this.#append(chunk);
		return this;
	}

	finish(): Uint8Array<ArrayBuffer> {
		this.#flush();
		const result = new Uint8Array(this.#length);
		let offset = 0;
		for (const chunk of this.#chunks) {
			result.set(chunk, offset);
			offset += chunk.length;
		}
		return result;
	}
}
