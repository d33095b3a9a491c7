import {
	type Code,
	giveBack,
	i32,
	int,
	type Local,
	loadByte,
	loadInt,
	loadShort,
	storeInt,
	until,
	when,
} from '../../base/wasm/code.ts';
import { defineFunction, instantiate, pageBytes, type WasmInstance } from '../../base/wasm/wasmModule.ts';

/** Copies the UTF-16 code units of a text to the start of an array that is at least as long. */
export type CopyUnits = (text: string, units: Uint16Array<ArrayBuffer>) => void;

/** Maximum length of a text, in code units. */
export const longestText = 4 << 20;
/** Maximum number of words to hash. */
export const maxWords = 200_000;
/** Number of positions to examine at a time for likely places. */
export const blockLength = 8192;
/** Number of words in an n-gram. */
export const ngram = 4;
/** Number of code units at a place that decide whether it is likely. */
export const prefixLength = 5;

/** Entries of `lower` for code units other than those of ordinary words. */
export const space = -1;
/** Script without spaces: each character is a word. */
export const unspaced = -2;
/** Half of a surrogate pair. */
export const half = -3;

/** Bits of `classes`: a phrase of whole words, or of a script without spaces, can start with the code unit. */
export const startsPhrase = 1;
export const startsUnspaced = 2;
export const letter = 4;
/** Second half of a surrogate pair. */
export const lowHalf = 8;

/** Minimum number of slots for n-grams, and minimum per n-gram, so that the first one is usually free. */
const smallestTable = 512;
const slotsPerNgram = 2;
/** Maximum number of occupied slots to skip, per slot. Usually, one is skipped for every two to four n-grams. */
const skipsPerSlot = 16;
const largestTable = 2 ** Math.ceil(Math.log2(slotsPerNgram * maxWords));
const largestLikely = 16 * pageBytes;

/** Addresses of the parts of the memory. */
const state = 0;
const lower = pageBytes;
const classes = lower + 4 * 0x10000;
const symbols = classes + 0x10000;
const likely = symbols + 0x10000;
const places = likely + largestLikely;
const words = places + 4 * (blockLength + 1);
const table = words + 4 * (maxWords + 1);
const units = table + 8 * largestTable;
/** Code units after the end of a text can be read; their values are undefined. */
const memoryBytes = units + 2 * (longestText + prefixLength);

/*
 * Loops that run once per code unit have no branches that depend on it: processors mispredict one branch per word, which
 * takes longer than all other instructions. So values are always stored, and overwritten if they do not count.
 */

/** FNV-1a, on code units. */
const hashStart = 0x811c9dc5;
const hashPrime = 0x01000193;

const not = (value: Code) => i32.xor(value, int(-1));

/**
 * Hashes words until `end`, or until a code unit that needs more than a table. Returns its address, and stores the
 * variables for the next call. `between` has all bits set outside of words, and none within.
 */
const hashWords = defineFunction(
	{ parameters: ['at', 'end', 'word', 'hash', 'between'], integers: ['unit', 'ends'] },
	({ at, end, word, hash, between, unit, ends }) => {
		const leave = [
			storeInt(int(state), word.value),
			storeInt(int(state + 4), hash.value),
			storeInt(int(state + 8), between.value),
			giveBack(at.value),
		];
		return [
			until(
				i32.notLess(at.value, end.value),
				unit.set(loadInt(i32.shiftLeft(loadShort(at.value), int(2)), lower)),
				when(i32.less(unit.value, int(space)), ...leave),
				storeInt(word.value, hash.value),
				ends.set(i32.shiftRight(unit.value, int(31))),
				word.set(i32.add(word.value, i32.and(i32.and(not(between.value), ends.value), int(4)))),
				hash.set(i32.multiply(i32.xor(hash.value, unit.value), int(hashPrime))),
				hash.set(i32.or(i32.and(hash.value, not(ends.value)), i32.and(int(hashStart), ends.value))),
				between.set(ends.value),
				at.set(i32.add(at.value, int(2))),
			),
			...leave,
		];
	},
);

/** Spreads differences of a hash across all its bits. */
function mixed(hash: Code, variable: Local): Code[] {
	const shifted = (bits: number) => i32.xor(variable.value, i32.shiftRightUnsigned(variable.value, int(bits)));
	return [
		variable.set(hash),
		variable.set(i32.multiply(shifted(16), int(0x7feb352d))),
		variable.set(i32.multiply(shifted(15), int(0x846ca68b))),
		variable.set(shifted(16)),
	];
}

/**
 * Counts the n-grams of the words until `end` that repeat earlier ones. `mask`: address of the table's last slot,
 * relative to the table, which must be empty. Each slot has the two halves of an n-gram's 64-bit hash, of which the
 * second is not zero. Returns -1 after `most` occupied slots were skipped, which only happens if the words were chosen
 * for that.
 */
const countRepeats = defineFunction(
	{
		parameters: ['end', 'mask', 'most'],
		integers: ['word', 'a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3', 'b4', 'a', 'b', 'slot', 'stored', 'repeats'],
	},
	({ end, mask, most, word, a1, a2, a3, a4, b1, b2, b3, b4, a, b, slot, stored, repeats }) => {
		// Two different hashes for each word, because sums of the same one could cancel out in both halves.
		const read = (first: Local, second: Local) => [
			...mixed(loadInt(word.value), first),
			...mixed(i32.xor(loadInt(word.value), int(0x5bd1e995)), second),
			word.set(i32.add(word.value, int(4))),
		];
		// Sums of products, unlike a chain of steps, are computed in parallel by the processor.
		const sum = (variables: readonly Local[], factors: readonly number[]) =>
			variables.map(({ value }, i) => i32.multiply(value, int(factors[i] as number))).reduce((x, y) => i32.add(x, y));
		const place = (value: Code) => i32.and(value, mask.value);
		return [
			word.set(int(words)),
			...[...read(a1, b1), ...read(a2, b2), ...read(a3, b3)],
			until(
				i32.notLess(word.value, end.value),
				...read(a4, b4),
				a.set(sum([a1, a2, a3, a4], [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f])),
				a.set(i32.xor(a.value, i32.shiftRightUnsigned(a.value, int(15)))),
				b.set(i32.or(sum([b1, b2, b3, b4], [0x165667b1, 0x2c1b3c6d, 0x297a2d39, 0x7f4a7c15]), int(1))),
				...[a1.set(a2.value), a2.set(a3.value), a3.set(a4.value)],
				...[b1.set(b2.value), b2.set(b3.value), b3.set(b4.value)],
				slot.set(place(i32.shiftLeft(i32.xor(a.value, i32.shiftRightUnsigned(b.value, int(7))), int(3)))),
				stored.set(loadInt(slot.value, table + 4)),
				until(
					i32.or(
						i32.isZero(stored.value),
						i32.and(i32.equal(stored.value, b.value), i32.equal(loadInt(slot.value, table), a.value)),
					),
					slot.set(place(i32.add(slot.value, int(8)))),
					stored.set(loadInt(slot.value, table + 4)),
					most.set(i32.subtract(most.value, int(1))),
					when(i32.isZero(most.value), giveBack(int(-1))),
				),
				repeats.set(i32.add(repeats.value, i32.notEqual(stored.value, int(0)))),
				storeInt(slot.value, a.value, table),
				storeInt(slot.value, b.value, table + 4),
			),
			giveBack(repeats.value),
		];
	},
);

/** Finds the likely places until `end`, and returns their number. `root`: row of `likely` to start with. */
const findPlaces = defineFunction(
	{ parameters: ['at', 'end', 'root'], integers: ['before', 'bits', 'found', 'kept', 'k', 'row'] },
	({ at, end, root, before, bits, found, kept, k, row }) => {
		const next = (from: Code, position: number) =>
			loadInt(i32.add(from, i32.shiftLeft(loadByte(loadShort(at.value, 2 * position), symbols), int(2))), likely);
		const starts = i32.or(
			i32.and(bits.value, not(i32.shiftRightUnsigned(before.value, int(Math.log2(letter))))),
			i32.shiftRightUnsigned(bits.value, int(Math.log2(startsUnspaced))),
		);
		return [
			until(
				i32.notLess(at.value, end.value),
				bits.set(loadByte(loadShort(at.value), classes)),
				storeInt(found.value, at.value, places),
				found.set(i32.add(found.value, i32.shiftLeft(i32.and(starts, int(startsPhrase)), int(2)))),
				before.set(bits.value),
				at.set(i32.add(at.value, int(2))),
			),
			until(
				i32.notLess(k.value, found.value),
				at.set(loadInt(k.value, places)),
				row.set(root.value),
				...Array.from({ length: prefixLength }, (_, position) => row.set(next(row.value, position))),
				bits.set(i32.and(loadByte(loadShort(at.value), classes), int(startsUnspaced))),
				storeInt(kept.value, i32.shiftRightUnsigned(i32.subtract(at.value, int(units)), int(1)), places),
				kept.set(i32.add(kept.value, i32.shiftLeft(i32.notEqual(i32.or(row.value, bits.value), int(0)), int(2)))),
				k.set(i32.add(k.value, int(4))),
			),
			giveBack(i32.shiftRightUnsigned(kept.value, int(2))),
		];
	},
);

const functions = { hashWords, countRepeats, findPlaces };

/** Loops over the code units of a text, and tables for them, in WebAssembly. */
export class TextScanner {
	readonly #wasm: WasmInstance<keyof typeof functions>;
	readonly #copy: CopyUnits;
	readonly #integers: Int32Array;
	/** Code unit -> its lowercase, if that is a single code unit; or `space`, `unspaced` or `half`. */
	readonly lower: Int32Array;
	/** Code unit -> bits. */
	readonly classes: Uint8Array;
	/** Code unit -> column of `likely`. */
	readonly symbols: Uint8Array;
	/**
	 * Automaton that reads the first code units at a place. Row + 4 * symbol -> row, as offsets in bytes. Ends in row 0 if
	 * no phrase of whole words can start with them.
	 */
	readonly likely: Int32Array;
	/** The current text. */
	readonly units: Uint16Array<ArrayBuffer>;
	/** Likely places of the current block, as positions in the text. */
	readonly places: Int32Array;

	private constructor(wasm: WasmInstance<keyof typeof functions>, copy: CopyUnits) {
		this.#wasm = wasm;
		this.#copy = copy;
		const { buffer } = wasm.memory;
		this.#integers = new Int32Array(buffer);
		this.lower = new Int32Array(buffer, lower, 0x10000);
		this.classes = new Uint8Array(buffer, classes, 0x10000);
		this.symbols = new Uint8Array(buffer, symbols, 0x10000);
		this.likely = new Int32Array(buffer, likely, largestLikely >> 2);
		this.units = new Uint16Array(buffer, units, longestText + prefixLength);
		this.places = new Int32Array(buffer, places, blockLength + 1);
	}

	/** Returns null without WebAssembly, or if there is no memory for it. */
	static create(copy: CopyUnits = copyUnits): TextScanner | null {
		const wasm = instantiate(functions, memoryBytes);
		return wasm === null ? null : new TextScanner(wasm, copy);
	}

	/** Replaces the current text. Returns false if the text is too long. */
	load(text: string): boolean {
		if (text.length > longestText) return false;
		this.#copy(text, this.units);
		return true;
	}

	/**
	 * Hashes the words of the current text in order, up to `maxWords`; returns their number.
	 * @param isUnspaced whether the surrogate pair that starts at a position is a character of a script without spaces
	 */
	hashWords(length: number, isUnspaced: (at: number) => boolean): number {
		const integers = this.#integers;
		const last = (words >> 2) + maxWords;
		let word = words >> 2;
		let hash = hashStart;
		let between = -1;
		for (let at = 0; at < length && word < last; ) {
			// Words and spaces alternate, so this many code units have at most as many words as there is memory for.
			const end = Math.min(length, at + 2 * (last - word));
			at = (this.#wasm.hashWords(units + 2 * at, units + 2 * end, 4 * word, hash, between) - units) >> 1;
			word = (integers[state >> 2] as number) >> 2;
			hash = integers[(state >> 2) + 1] as number;
			between = integers[(state >> 2) + 2] as number;
			if (at === end) continue;
			const unit = this.units[at] as number;
			const isPair = this.lower[unit] === half;
			if (isPair && !isUnspaced(at)) {
				hash = Math.imul(hash ^ unit, hashPrime);
				between = 0;
				at++;
				continue;
			}
			if (between === 0) integers[word++] = hash;
			const character = isPair ? 0x10000 + ((unit & 0x3ff) << 10) + ((this.units[at + 1] as number) & 0x3ff) : unit;
			if (word < last) integers[word++] = Math.imul(character + 0x51ed, 0x2c1b3c6d);
			hash = hashStart;
			between = -1;
			at += isPair ? 2 : 1;
		}
		if (between === 0 && word < last) integers[word++] = hash;
		return word - (words >> 2);
	}

	/**
	 * Counts the n-grams of the words of the last call of `hashWords` that repeat earlier ones. Returns -1 if it would take
	 * too long, because many of the hashes were made similar on purpose.
	 */
	countRepeats(count: number): number {
		const ngrams = count - ngram + 1;
		let slots = smallestTable;
		while (slots < slotsPerNgram * ngrams) slots *= 2;
		this.#integers.fill(0, table >> 2, (table >> 2) + 2 * slots);
		return this.#wasm.countRepeats(words + 4 * count, 8 * (slots - 1), skipsPerSlot * slots);
	}

	/**
	 * Finds the positions in a block where a phrase can start, and returns their number. It includes all where one does.
	 * @param root offset of the row of `likely` to start with
	 */
	findPlaces(start: number, end: number, root: number): number {
		return this.#wasm.findPlaces(units + 2 * start, units + 2 * end, root);
	}
}

/** Returns the lowercase of a code unit, if that is a single code unit, or the code unit itself. */
export function lowercaseUnit(code: number): number {
	const lower = String.fromCharCode(code).toLowerCase();
	return lower.length === 1 ? lower.charCodeAt(0) : code;
}

function copyUnits(text: string, copied: Uint16Array): void {
	for (let i = 0; i < text.length; i++) copied[i] = text.charCodeAt(i);
}
