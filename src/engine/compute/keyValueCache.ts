/**
 * Slots are added in multiples of this many tokens, and by at least a quarter: growing costs a copy, unused slots cost
 * time in every decode.
 */
const slotStep = 16;
const growth = 1.25;

/**
 * The keys and values of the rows that are being sampled, one array per layer and part, each [rows, heads, slots,
 * headWidth]; a row's tokens fill its slots from 0. Rows can leave; the rest stay dense.
 */
export class KeyValueCache {
	/** keys of layer 0, values of layer 0, keys of layer 1, ... */
	readonly parts: Float32Array[];
	/** Additive mask [rows, slots]: 0 where a row has a token, else a large negative number. */
	mask: Float32Array;
	slots: number;
	readonly #heads: number;
	readonly #headWidth: number;
	#rows: number;

	constructor(layers: number, rows: number, heads: number, headWidth: number, longest: number) {
		this.#heads = heads;
		this.#headWidth = headWidth;
		this.#rows = rows;
		this.slots = roundUp(longest + 1);
		this.parts = Array.from({ length: 2 * layers }, () => new Float32Array(rows * heads * this.slots * headWidth));
		this.mask = new Float32Array(rows * this.slots).fill(masked);
	}

	get rows(): number {
		return this.#rows;
	}

	/** Elements of one row in a part. */
	get #rowSize(): number {
		return this.#heads * this.slots * this.#headWidth;
	}

	/** Copies a prompt's entries ([prompts, heads, tokens, headWidth]) into a row. */
	fill(row: number, part: number, source: Float32Array, prompt: number, tokens: number, length: number): void {
		const target = this.parts[part] as Float32Array;
		const width = this.#headWidth;
		for (let h = 0; h < this.#heads; h++) {
			const from = (prompt * this.#heads + h) * tokens * width;
			target.set(source.subarray(from, from + length * width), row * this.#rowSize + h * this.slots * width);
		}
		this.mask.fill(0, row * this.slots, row * this.slots + length);
	}

	/** Puts each row's new entry ([rows, heads, 1, headWidth]) at slot lengths[row]. */
	append(part: number, source: Float32Array, lengths: Int32Array): void {
		const target = this.parts[part] as Float32Array;
		const width = this.#headWidth;
		const stride = this.slots * width;
		let from = 0;
		for (let row = 0; row < this.#rows; row++) {
			let to = row * this.#rowSize + (lengths[row] as number) * width;
			for (let h = 0; h < this.#heads; h++) {
				for (let i = 0; i < width; i++) target[to + i] = source[from + i] as number;
				from += width;
				to += stride;
			}
		}
	}

	/** The slot of each row's newest token becomes visible. */
	reveal(lengths: Int32Array): void {
		for (let row = 0; row < this.#rows; row++) this.mask[row * this.slots + (lengths[row] as number)] = 0;
	}

	/** Drops a row; the last one takes its place. */
	remove(row: number): void {
		const last = --this.#rows;
		if (row === last) return;
		const size = this.#rowSize;
		for (const part of this.parts) part.copyWithin(row * size, last * size, (last + 1) * size);
		this.mask.copyWithin(row * this.slots, last * this.slots, (last + 1) * this.slots);
	}

	/** Makes room for rows of `longest` tokens and one more. Returns whether the arrays were replaced. */
	grow(longest: number): boolean {
		if (longest + 1 <= this.slots) return false;
		const slots = Math.max(roundUp(longest + 1), roundDown(this.slots * growth));
		const width = this.#headWidth;
		const segment = this.slots * width;
		this.parts.forEach((part, index) => {
			const larger = new Float32Array(this.#rows * this.#heads * slots * width);
			for (let i = 0; i < this.#rows * this.#heads; i++) {
				larger.set(part.subarray(i * segment, (i + 1) * segment), i * slots * width);
			}
			this.parts[index] = larger;
		});
		const mask = new Float32Array(this.#rows * slots).fill(masked);
		for (let row = 0; row < this.#rows; row++) {
			mask.set(this.mask.subarray(row * this.slots, (row + 1) * this.slots), row * slots);
		}
		this.mask = mask;
		this.slots = slots;
		return true;
	}
}

/** Added to the scores of what must not be seen. */
export const masked = -1e9;

function roundUp(n: number): number {
	return Math.ceil(n / slotStep) * slotStep;
}

function roundDown(n: number): number {
	return Math.floor(n / slotStep) * slotStep;
}
