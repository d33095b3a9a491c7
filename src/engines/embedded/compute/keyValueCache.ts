import { masked } from '../model/attention.ts';
import type { RowCache } from './samplingBatch.ts';

/**
 * The number of slots grows to a multiple of this many tokens, and by at least a quarter. Growing requires a copy, but
 * unused slots slow down every decoding step.
 */
const slotStep = 8;
const growth = 1.25;

/**
 * Key-value cache for the rows being sampled. It has one part per layer and kind, each [rows, heads, slots, headWidth].
 * A row's tokens fill its slots from 0. Rows can be removed and duplicated, and stay contiguous. The arrays are reused
 * for the next batch.
 */
export class KeyValueCache implements RowCache {
	readonly #heads: number;
	readonly #headWidth: number;
	/** Keys of layer 0, values of layer 0, keys of layer 1, ... Each array is larger than its used part. */
	#parts: Float32Array[];
	#mask = new Float32Array(0);
	#prompts: readonly Float32Array[] = [];
	#promptTokens = 0;
	#rows = 0;
	/** Maximum number of rows in this batch. */
	#most = 0;
	#slots = 0;

	constructor(layers: number, heads: number, headWidth: number) {
		this.#heads = heads;
		this.#headWidth = headWidth;
		this.#parts = Array.from({ length: 2 * layers }, () => new Float32Array(0));
	}

	get rows(): number {
		return this.#rows;
	}

	get slots(): number {
		return this.#slots;
	}

	/** Returns the used part of an array. */
	part(index: number): Float32Array {
		return (this.#parts[index] as Float32Array).subarray(0, this.#rows * this.#rowSize);
	}

	/** Additive mask [rows, slots]: 0 where a row has a token, and a large negative number elsewhere. */
	get mask(): Float32Array {
		return this.#mask.subarray(0, this.#rows * this.#slots);
	}

	/** Number of elements per row in a part. */
	get #rowSize(): number {
		return this.#heads * this.#slots * this.#headWidth;
	}

	/**
	 * Starts a batch whose longest row has `longest` tokens. Clears data from the previous batch, because it may contain
	 * NaN.
	 * @param max maximum number of rows during the batch
	 */
	reset(rows: number, max: number, longest: number): void {
		this.#rows = rows;
		this.#most = max;
		this.#slots = roundUp(longest + 1 + slotStep);
		const size = max * this.#rowSize;
		this.#parts = this.#parts.map((part) => (part.length < size ? new Float32Array(size) : part.fill(0)));
		this.#mask = new Float32Array(max * this.#slots).fill(masked);
	}

	/** Sets the prompts' entries, one array per part: [prompts, heads, tokens, headWidth]. */
	load(prompts: readonly Float32Array[], tokens: number): void {
		this.#prompts = prompts;
		this.#promptTokens = tokens;
	}

	/** Copies a prompt's entries to a row. */
	fill(row: number, prompt: number, length: number): void {
		const count = length * this.#headWidth;
		const tokens = this.#promptTokens;
		for (const [index, source] of this.#prompts.entries()) {
			const target = this.#parts[index] as Float32Array;
			for (let h = 0; h < this.#heads; h++) {
				const from = (prompt * this.#heads + h) * tokens * this.#headWidth;
				const to = row * this.#rowSize + h * this.#slots * this.#headWidth;
				for (let i = 0; i < count; i++) target[to + i] = source[from + i] as number;
			}
		}
		this.#mask.fill(0, row * this.#slots, row * this.#slots + length);
	}

	/** Writes each row's new entry ([rows, heads, 1, headWidth]) to slot lengths[row]. */
	append(index: number, source: Float32Array, lengths: Int32Array): void {
		const target = this.#parts[index] as Float32Array;
		const width = this.#headWidth;
		const stride = this.#slots * width;
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

	/** Unmasks the slot of each row's newest token. */
	reveal(lengths: Int32Array): void {
		for (let row = 0; row < this.#rows; row++) this.#mask[row * this.#slots + (lengths[row] as number)] = 0;
	}

	/** Removes a row by moving the last row to its index. */
	remove(row: number): void {
		const last = --this.#rows;
		if (row === last) return;
		const size = this.#rowSize;
		for (const part of this.#parts) part.copyWithin(row * size, last * size, (last + 1) * size);
		this.#mask.copyWithin(row * this.#slots, last * this.#slots, (last + 1) * this.#slots);
	}

	/** Duplicates a row. Returns the index of the copy. */
	double(row: number): number {
		const added = this.#rows++;
		const size = this.#rowSize;
		for (const part of this.#parts) part.copyWithin(added * size, row * size, (row + 1) * size);
		this.#mask.copyWithin(added * this.#slots, row * this.#slots, (row + 1) * this.#slots);
		return added;
	}

	/** Makes room for rows of `longest` tokens plus one. Returns whether any data was moved. */
	grow(longest: number): boolean {
		if (longest + 1 <= this.#slots) return false;
		const before = this.#slots;
		this.#slots = Math.max(roundUp(longest + 1), roundDown(before * growth));
		const segments = this.#rows * this.#heads;
		const size = this.#most * this.#rowSize;
		this.#parts = this.#parts.map((part) =>
			spread(part, size, segments, before * this.#headWidth, this.#slots * this.#headWidth),
		);
		const mask = new Float32Array(this.#most * this.#slots).fill(masked);
		for (let row = 0; row < this.#rows; row++) {
			mask.set(this.#mask.subarray(row * before, (row + 1) * before), row * this.#slots);
		}
		this.#mask = mask;
		return true;
	}
}

/**
 * Changes the stride of an array's segments from `before` to `after`. Works in place if the array has the right `size`.
 */
function spread(array: Float32Array, size: number, segments: number, before: number, after: number): Float32Array {
	let target = array;
	if (array.length < size) {
		target = new Float32Array(size);
		target.set(array.subarray(0, segments * before));
	}
	// Go backward: each segment moves toward the end, over segments that have already moved.
	for (let i = segments - 1; i > 0; i--) target.copyWithin(i * after, i * before, (i + 1) * before);
	return target;
}

function roundUp(n: number): number {
	return Math.ceil(n / slotStep) * slotStep;
}

function roundDown(n: number): number {
	return Math.floor(n / slotStep) * slotStep;
}
