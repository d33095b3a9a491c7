import { bytes16, giveBack, i32, int, load16Bytes, loadByte, loadSplat, until, when } from '../base/wasm/code.ts';
import { defineFunction, instantiate, pageBytes } from '../base/wasm/wasmModule.ts';

/*
 * Searches memory for a byte sequence with SIMD instructions. Sixteen positions at a time are checked for two bytes of the
 * sequence that are rare (the "generic SIMD" search of W. Muła, "SIMD-friendly algorithms for substring searching"), and
 * only where both match, for the rest. Unlike Buffer.indexOf, it does not slow down if the sequence's first byte is
 * frequent, and it can ignore case.
 *
 * Memory: the sequence; for each of its bytes, the bits to set before comparing; then the window to search.
 */

/** Maximum length of a sequence, in bytes. */
const longestSequence = pageBytes;
const maskStart = pageBytes;
const windowStart = 2 * pageBytes;
/** Size of the window, in bytes. */
export const windowBytes = 2 << 20;
/** Vectors loaded near the end extend past the window. */
const memoryBytes = windowStart + windowBytes + pageBytes;

/** Returns the position of the sequence in [from, last], or -1. `first` and `second`: positions of the two bytes in it. */
const find = defineFunction(
	{
		parameters: ['from', 'last', 'length', 'first', 'second'],
		integers: ['bits', 'at', 'k'],
		vectors: ['firstByte', 'firstMask', 'secondByte', 'secondMask'],
	},
	({ from, last, length, first, second, bits, at, k, firstByte, firstMask, secondByte, secondMask }) => [
		...[firstByte.set(loadSplat(first.value)), firstMask.set(loadSplat(first.value, maskStart))],
		...[secondByte.set(loadSplat(second.value)), secondMask.set(loadSplat(second.value, maskStart))],
		until(
			i32.greater(from.value, last.value),
			bits.set(
				bytes16.highBits(
					bytes16.and(
						bytes16.equal(bytes16.or(load16Bytes(i32.add(from.value, first.value)), firstMask.value), firstByte.value),
						bytes16.equal(
							bytes16.or(load16Bytes(i32.add(from.value, second.value)), secondMask.value),
							secondByte.value,
						),
					),
				),
			),
			// Compare the whole sequence at each position where both bytes match.
			until(
				i32.isZero(bits.value),
				at.set(i32.add(from.value, i32.trailingZeros(bits.value))),
				when(i32.greater(at.value, last.value), giveBack(int(-1))),
				k.set(int(0)),
				until(
					i32.notEqual(i32.or(loadByte(i32.add(at.value, k.value)), loadByte(k.value, maskStart)), loadByte(k.value)),
					k.set(i32.add(k.value, int(1))),
					when(i32.equal(k.value, length.value), giveBack(at.value)),
				),
				bits.set(i32.and(bits.value, i32.subtract(bits.value, int(1)))),
			),
			from.set(i32.add(from.value, int(16))),
		),
		giveBack(int(-1)),
	],
);

/** Bytes in roughly descending order of frequency in reasoning text; all others are rarer. */
const frequent = Buffer.from(' etaoinsrhldc\\01um2f3pgwyb45.,v-k"6789xjqz');

function isLetter(byte: number): boolean {
	return (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
}

/** A byte sequence to search for. */
export class Sequence {
	readonly bytes: Uint8Array;
	/** For each byte, the bits to set in the searched bytes before comparing. */
	readonly masks: Uint8Array;
	/** Positions of the two rarest bytes with different values, if there are any. */
	readonly probes: readonly [number, number];

	/** @param bytes 1 to 65,536; lowercase if the case of ASCII letters is ignored */
	constructor(bytes: Uint8Array, ignoreCase: boolean) {
		if (bytes.length === 0 || bytes.length > longestSequence) throw new RangeError(`${bytes.length} bytes`);
		this.bytes = bytes;
		this.masks = bytes.map((byte) => (ignoreCase && isLetter(byte) ? 0x20 : 0));
		const rarity = (at: number) => {
			const rank = frequent.indexOf(bytes[at] as number);
			return rank === -1 ? frequent.length : rank;
		};
		const [first = 0, ...others] = [...bytes.keys()].sort((a, b) => rarity(b) - rarity(a));
		// Bytes with the same value would match everywhere in a text that repeats them.
		const second = others.find((at) => bytes[at] !== bytes[first]) ?? bytes.length - 1;
		this.probes = [first, second];
	}
}

/** Does the same as the function `find` without SIMD instructions. */
function findByByte(memory: Uint8Array, ...[from, last, length, first]: Parameters<Find>): number {
	const matches = (at: number, k: number) =>
		((memory[at + k] as number) | (memory[maskStart + k] as number)) === memory[k];
	for (let at = from; at <= last; at++) {
		if (!matches(at, first)) continue;
		let k = 0;
		while (k < length && matches(at, k)) k++;
		if (k === length) return at;
	}
	return -1;
}

type Find = (from: number, last: number, length: number, first: number, second: number) => number;

/** Memory with a window that can be searched without copying. */
export class ByteSearch {
	readonly #find: Find;
	readonly #memory: Uint8Array;
	#sequence: Sequence | null = null;
	/** Whether it uses SIMD instructions. */
	readonly simd: boolean;
	/** Files can be read into this window. */
	readonly window: Buffer;

	/** @param simd whether to use WebAssembly if it is available */
	constructor(simd = true) {
		const made = simd ? instantiate({ find }, memoryBytes) : null;
		this.simd = made !== null;
		const buffer = made === null ? new ArrayBuffer(memoryBytes) : made.memory.buffer;
		this.#memory = new Uint8Array(buffer);
		this.#find = made === null ? (...places) => findByByte(this.#memory, ...places) : made.find;
		this.window = Buffer.from(buffer, windowStart, windowBytes);
	}

	/** Returns the start of the first occurrence at or after `from`, or -1 if there is none. */
	indexOf(bytes: Buffer, sequence: Sequence, from: number): number {
		const { length } = sequence.bytes;
		this.#choose(sequence);
		if (bytes.buffer === this.#memory.buffer)
			return this.#within(bytes.byteOffset, from, bytes.length - length, sequence);
		// Parts of other memory are copied to the window. They overlap, so that no occurrence is split, and become larger, so
		// that little is copied if the next occurrence is near.
		for (let start = from, part = 2 * pageBytes; start + length <= bytes.length; start += part - length + 1) {
			part = Math.min(windowBytes, 2 * part);
			const size = bytes.copy(this.window, 0, start, start + part);
			const found = this.#within(windowStart, 0, size - length, sequence);
			if (found !== -1) return start + found;
		}
		return -1;
	}

	#within(base: number, from: number, last: number, { bytes, probes: [first, second] }: Sequence): number {
		if (from > last) return -1;
		const found = this.#find(base + from, base + last, bytes.length, first, second);
		return found === -1 ? -1 : found - base;
	}

	#choose(sequence: Sequence): void {
		if (this.#sequence === sequence) return;
		this.#sequence = sequence;
		this.#memory.set(sequence.bytes, 0);
		this.#memory.set(sequence.masks, maskStart);
	}
}

let shared: ByteSearch | null = null;

/** Returns this thread's instance. */
export function sharedSearch(): ByteSearch {
	shared ??= new ByteSearch();
	return shared;
}
