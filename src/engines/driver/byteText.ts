const comma = 44;
const minus = 45;
const point = 46;
const zero = 48;

/**
 * Numbers whose magnitude in millionths is below this limit fit into a 32-bit integer and are formatted digit by digit.
 */
const largest = 2 ** 31;

/** Growable UTF-8 buffer. */
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
	 * Writes a JSON list with numbers rounded to six decimals and null for non-finite values. Much faster than
	 * `JSON.stringify`, which searches for the shortest representation that parses to the same number.
	 */
	writeNumbers(values: ArrayLike<number>, from: number, to: number): void {
		this.write('[');
		for (let i = from; i < to; i++) {
			// The longest number is -2147.483647, plus a comma.
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
