/*
 * Searches memory for a byte sequence with SIMD instructions, which a JavaScript loop cannot use, in a WebAssembly module
 * that is assembled here. Sixteen positions at a time are checked for two bytes of the sequence that are rare (the "generic
 * SIMD" search of W. Muła, "SIMD-friendly algorithms for substring searching"), and only where both match, for the rest.
 * Unlike Buffer.indexOf, it does not slow down if the sequence's first byte is frequent, and it can ignore case.
 *
 * Memory: the sequence; for each of its bytes, the bits to set before comparing; then the window to search.
 */

const page = 0x10000;
/** Maximum length of a sequence, in bytes. */
const longestSequence = page;
const maskStart = page;
const windowStart = 2 * page;
/** Size of the window, in bytes. */
export const windowBytes = 2 << 20;
/** Vectors loaded near the end extend past the window. */
const pages = (windowStart + windowBytes) / page + 2;

/** Parameters and local variables of the function. */
const local = { from: 0, last: 1, length: 2, first: 3, second: 4, bits: 5, at: 6, k: 7 } as const;
const vector = { firstByte: 8, firstMask: 9, secondByte: 10, secondMask: 11 } as const;

const leb = (value: number): number[] => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >>> 7)]);
const get = (name: keyof typeof local) => [0x20, local[name]];
const set = (name: keyof typeof local) => [0x21, local[name]];
const tee = (name: keyof typeof local) => [0x22, local[name]];
const getVector = (name: keyof typeof vector) => [0x20, vector[name]];
const setVector = (name: keyof typeof vector) => [0x21, vector[name]];
const constant = (value: number) => [0x41, value & 0x7f];
const loadByte = (offset: number) => [0x2d, 0, ...leb(offset)];
const load16 = [0xfd, 0x00, 0, 0];
const loadSplat = (offset: number) => [0xfd, 0x07, 0, ...leb(offset)];
const [equal16, and16, or16, bitmask16] = [
	[0xfd, 0x23],
	[0xfd, 0x4e],
	[0xfd, 0x50],
	[0xfd, 0x64],
];
const op = {
	...{ block: [0x02, 0x40], loop: [0x03, 0x40], if: [0x04, 0x40], end: [0x0b], return: [0x0f] },
	...{ isZero: [0x45], equal: [0x46], notEqual: [0x47], greater: [0x4b], trailingZeros: [0x68] },
	...{ add: [0x6a], subtract: [0x6b], and: [0x71], or: [0x72] },
};
const branch = (depth: number) => [0x0c, depth];
const branchIf = (depth: number) => [0x0d, depth];

/** find(from, last, length, first, second): position of the sequence in [from, last], or -1. */
const body = [
	...[...get('first'), ...loadSplat(0), ...setVector('firstByte')],
	...[...get('first'), ...loadSplat(maskStart), ...setVector('firstMask')],
	...[...get('second'), ...loadSplat(0), ...setVector('secondByte')],
	...[...get('second'), ...loadSplat(maskStart), ...setVector('secondMask')],
	...op.loop,
	...[...get('from'), ...get('last'), ...op.greater, ...op.if, ...constant(-1), ...op.return, ...op.end],
	...[...get('from'), ...get('first'), ...op.add, ...load16],
	...[...getVector('firstMask'), ...or16, ...getVector('firstByte'), ...equal16],
	...[...get('from'), ...get('second'), ...op.add, ...load16],
	...[...getVector('secondMask'), ...or16, ...getVector('secondByte'), ...equal16],
	...[...and16, ...bitmask16, ...set('bits')],
	// Compare the whole sequence at each position where both bytes match.
	...[...op.block, ...op.loop],
	...[...get('bits'), ...op.isZero, ...branchIf(1)],
	...[...get('from'), ...get('bits'), ...op.trailingZeros, ...op.add, ...tee('at')],
	...[...get('last'), ...op.greater, ...branchIf(1)],
	...[...constant(0), ...set('k')],
	...[...op.block, ...op.loop],
	...[...get('k'), ...get('length'), ...op.equal, ...op.if, ...get('at'), ...op.return, ...op.end],
	...[...get('at'), ...get('k'), ...op.add, ...loadByte(0), ...get('k'), ...loadByte(maskStart), ...op.or],
	...[...get('k'), ...loadByte(0), ...op.notEqual, ...branchIf(1)],
	...[...get('k'), ...constant(1), ...op.add, ...set('k'), ...branch(0)],
	...[...op.end, ...op.end],
	...[...get('bits'), ...get('bits'), ...constant(1), ...op.subtract, ...op.and, ...set('bits'), ...branch(0)],
	...[...op.end, ...op.end],
	...[...get('from'), ...constant(16), ...op.add, ...set('from'), ...branch(0)],
	...op.end,
	...constant(-1),
	...op.end,
];

function assemble(): Uint8Array<ArrayBuffer> {
	const [i32, v128] = [0x7f, 0x7b];
	const section = (id: number, content: readonly number[]) => [id, ...leb(content.length), ...content];
	const name = (text: string) => [text.length, ...Buffer.from(text)];
	const code = [2, 3, i32, 4, v128, ...body];
	return Uint8Array.from([
		...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
		...section(1, [1, 0x60, 5, i32, i32, i32, i32, i32, 1, i32]),
		...section(3, [1, 0]),
		...section(5, [1, 1, ...leb(pages), ...leb(pages)]),
		...section(7, [2, ...name('memory'), 2, 0, ...name('find'), 0, 0]),
		...section(10, [1, ...leb(code.length), ...code]),
	]);
}

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

/** TypeScript declares it only in its DOM library. */
const { WebAssembly } = globalThis as unknown as {
	readonly WebAssembly: {
		readonly Module: new (bytes: Uint8Array) => object;
		readonly Instance: new (module: object) => { readonly exports: Exports };
	};
};

interface Exports {
	readonly memory: { readonly buffer: ArrayBuffer };
	readonly find: Find;
}

/** Returns null if there is no memory for it: 8 GiB of addresses are reserved, which some machines limit. */
function instance(): Exports | null {
	try {
		return new WebAssembly.Instance(new WebAssembly.Module(assemble())).exports;
	} catch {
		return null;
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
	/** Files can be read into this window. */
	readonly window: Buffer;

	/** @param simd whether to use WebAssembly if it is available */
	constructor(simd = true) {
		const made = simd ? instance() : null;
		const buffer = made === null ? new ArrayBuffer(pages * page) : made.memory.buffer;
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
		for (let start = from, part = 2 * page; start + length <= bytes.length; start += part - length + 1) {
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
