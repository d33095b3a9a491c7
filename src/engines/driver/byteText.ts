const comma = 44;
const minus = 45;
const point = 46;
const zero = 48;

/** Max absolute value of numbers written digit by digit: in millionths they fit into a 32-bit integer. */
const largest = 2 ** 31;

/** A growing UTF-8 text. */
export class ByteText {
	#bytes = Buffer.allocUnsafe(1 << 16);
	#length = 0;

	get bytes(): Uint8Array {
		return this.#bytes.subarray(0, this.#length);
	}

	write(text: string): void {
		this.#reserve(3 * text.length);
		this.#length += this.#bytes.write(text, this.#length);
	}

	/**
	 * Writes a JSON list: numbers to six decimals, null for non-finite ones. It takes a fraction of the time of
	 * `JSON.stringify`, which searches for the shortest text that is parsed as the same number.
	 */
	writeNumbers(values: ArrayLike<number>, from: number, to: number): void {
		this.write('[');
		for (let i = from; i < to; i++) {
			// The longest is -2147.483647, with a comma.
			this.#reserve(16);
			if (i > from) this.#bytes[this.#length++] = comma;
			const value = values[i] as number;
			const millionths = Math.round(value * 1e6);
			if (Math.abs(millionths) < largest) this.#writeMillionths(millionths);
			else this.write(JSON.stringify(value));
		}
		this.write(']');
	}

	#writeMillionths(signed: number): void {
		const bytes = this.#bytes;
		let at = this.#length;
		if (signed < 0) bytes[at++] = minus;
		const all = Math.abs(signed) | 0;
		const whole = (all / 1e6) | 0;
		for (let unit = whole < 10 ? 1 : whole < 100 ? 10 : whole < 1000 ? 100 : 1000; unit >= 1; unit = (unit / 10) | 0) {
			bytes[at++] = zero + (((whole / unit) | 0) % 10);
		}
		let rest = all - whole * 1e6;
		if (rest > 0) {
			bytes[at++] = point;
			for (let unit = 100_000; rest > 0; unit = (unit / 10) | 0) {
				const digit = (rest / unit) | 0;
				bytes[at++] = zero + digit;
				rest -= digit * unit;
			}
		}
		this.#length = at;
	}

	#reserve(more: number): void {
		if (this.#length + more <= this.#bytes.length) return;
		const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#length + more));
		this.#bytes.copy(larger, 0, 0, this.#length);
		this.#bytes = larger;
	}
}
