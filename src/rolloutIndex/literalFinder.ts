import type { LiteralBytes } from './indexTasks.ts';

/** Finds the first of several byte sequences in windows of bytes. */
export class LiteralFinder {
	readonly #searches: readonly ((bytes: Buffer, from: number) => number)[];
	/** Last position found for each literal. Valid until the search position passes it. */
	readonly #found: number[];
	#bytes: Buffer = Buffer.alloc(0);

	constructor(literals: readonly LiteralBytes[]) {
		this.#searches = literals.map(({ bytes, ignoreCase }) => {
			const needle = Buffer.from(bytes);
			return ignoreCase && hasLetters(needle) ? foldedSearch(needle) : exactSearch(needle);
		});
		this.#found = literals.map(() => -2);
	}

	begin(bytes: Buffer): void {
		this.#bytes = bytes;
		this.#found.fill(-2);
	}

	/** Returns the start of the first literal at or after a position, or -1 if there is none. */
	next(from: number): number {
		let first = -1;
		for (let i = 0; i < this.#searches.length; i++) {
			let found = this.#found[i] as number;
			if (found === -2 || (found !== -1 && found < from)) {
				found = (this.#searches[i] as (bytes: Buffer, from: number) => number)(this.#bytes, from);
				this.#found[i] = found;
			}
			if (found !== -1 && (first === -1 || found < first)) first = found;
		}
		return first;
	}
}

function isLetter(byte: number): boolean {
	return (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
}

function hasLetters(needle: Uint8Array): boolean {
	return needle.some(isLetter);
}

/**
 * Maximum needle length for which Buffer.indexOf finds the first byte with memchr, which is fast if that byte is rare.
 */
const shortNeedle = 7;
/** Minimum length of the part to search for, long enough that most matches are matches of the whole needle. */
const shortestPart = 3;
/** Number of false matches of the part in a window before the search switches to the whole needle. */
const maxMisses = 1000;
/** Bytes in roughly descending order of frequency in reasoning text; all others are rarer. */
const frequent = Buffer.from(' etaoinsrhldc\\01um2f3pgwyb45.,v-k"6789xjqz');

/** Exact search, which starts with a part of the needle whose first byte is rare. */
function exactSearch(needle: Buffer): (bytes: Buffer, from: number) => number {
	const rarity = (at: number) => {
		const rank = frequent.indexOf(needle[at] as number);
		return rank === -1 ? frequent.length : rank;
	};
	let start = 0;
	for (let at = 1; at <= needle.length - shortestPart; at++) if (rarity(at) > rarity(start)) start = at;
	const part = needle.subarray(start, start + shortNeedle);
	return (bytes, from) => {
		let misses = 0;
		for (let at = bytes.indexOf(part, from + start); at !== -1; at = bytes.indexOf(part, at + 1)) {
			const found = at - start;
			const end = found + needle.length;
			if (part.length === needle.length || (end <= bytes.length && needle.compare(bytes, found, end) === 0))
				return found;
			if (++misses > maxMisses) return bytes.indexOf(needle, found + 1);
		}
		return -1;
	};
}

/**
 * Case-insensitive Horspool search for ASCII letters; `needle` is lowercase. The last byte's shift is 0, so most
 * positions need only one lookup.
 */
function foldedSearch(needle: Buffer): (bytes: Buffer, from: number) => number {
	const length = needle.length;
	const last = length - 1;
	const fold = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte));
	const shift = new Int32Array(256).fill(length);
	const setShift = (byte: number, by: number) => {
		shift[byte] = by;
		if (isLetter(byte)) shift[byte - 32] = by;
	};
	for (let i = 0; i < last; i++) setShift(needle[i] as number, last - i);
	const afterLast = shift[needle[last] as number] as number;
	setShift(needle[last] as number, 0);
	return (bytes, from) => {
		const size = bytes.length;
		for (let i = from + last; i < size; ) {
			const by = shift[bytes[i] as number] as number;
			if (by !== 0) {
				i += by;
				continue;
			}
			let k = last - 1;
			for (let j = i - 1; k >= 0 && fold[bytes[j] as number] === needle[k]; j--) k--;
			if (k < 0) return i - last;
			i += afterLast;
		}
		return -1;
	};
}
