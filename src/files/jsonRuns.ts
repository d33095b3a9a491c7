import { type JsonStates, jsonStates } from './jsonStates.ts';

/*
 * Long runs of one kind of JSON text that need fewer lookups than the automaton of jsonStates.ts does: the characters of
 * strings, four at a time without a lookup, and lists of numbers, four bytes for each lookup. Both stop before the first
 * byte that the automaton must read.
 */

/** Moves past characters that neither end nor escape a string, and control characters, which are invalid in it. */
export function skipText(view: DataView, from: number, length: number): number {
	let at = from;
	// Sets the high bit of each byte that is below 0x20, or equal to a quote or a backslash; bytes from 0x80 on are other
	// characters. A borrow can mark a byte after such a byte, but never one before it.
	for (; at + 4 <= length; at += 4) {
		const word = view.getInt32(at, true);
		const special = (word - 0x20202020) | ((word ^ 0x22222222) - 0x01010101) | ((word ^ 0x5c5c5c5c) - 0x01010101);
		if ((special & ~word & 0x80808080) !== 0) break;
	}
	return at;
}

const [trueWord, nullWord, falseWord] = ['true', 'null', 'fals'].map((word) => Buffer.from(word).readInt32LE()) as [
	number,
	number,
	number,
];
const [letterE, comma, space] = [0x65, 0x2c, 0x20];

/** Moves past entries `true`, `false` and `null`, each with its comma and a space after it. */
function skipWords(view: DataView, from: number, length: number): number {
	let at = from;
	while (at + 7 <= length) {
		const word = view.getInt32(at, true);
		let end = at + 4;
		if (word === falseWord && view.getUint8(end) === letterE) end++;
		else if (word !== trueWord && word !== nullWord) break;
		if (view.getUint8(end) !== comma) break;
		at = view.getUint8(end + 1) === space ? end + 2 : end + 1;
	}
	return at;
}

/** Bytes of lists of numbers, as an example for each class. Any other byte ends a run. */
const examples = ['0', '1', '.', ',', '-', 'e', ' '] as const;
const classBits = 3;
const otherClass = 2 ** classBits - 1;
const pairBits = 2 * classBits;
const quadBits = 2 * pairBits;

/** An automaton for numbers in a list that reads four bytes for each lookup. */
interface Quads {
	/** Classes by pair of bytes, as a number in this machine's byte order. */
	readonly pairClasses: Uint8Array;
	/** State after four bytes, by `state + (class of the first pair << pairBits) + class of the second`; or `stop`. */
	readonly next: Uint16Array;
	readonly stop: number;
	/** States of `JsonStates`, by `state >> quadBits`. */
	readonly states: Uint32Array;
}

/** Derives the automaton from the one that reads bytes. */
function madeQuads(states: JsonStates): Quads {
	const byteClasses = examples.map((byte) => states.classes[byte.charCodeAt(0)] as number);
	const step = (state: number, numberClass: number): number => {
		const byteClass = byteClasses[numberClass];
		if (byteClass === undefined) return states.firstAction;
		return states.next[(state >> states.classShift) + byteClass] as number;
	};
	// All states that these bytes can reach from the start of a list.
	const found = [states.inArray];
	for (const state of found) {
		for (const numberClass of examples.keys()) {
			const after = step(state, numberClass);
			if (after < states.firstAction && !found.includes(after)) found.push(after);
		}
	}
	// Two bytes at a time, because all combinations of four take too long to try.
	const pairs = 1 << pairBits;
	const nextPair = new Int8Array(found.length * pairs).fill(-1);
	for (const [number, state] of found.entries()) {
		for (let pair = 0; pair < pairs; pair++) {
			const between = step(state, pair >> classBits);
			const after = between < states.firstAction ? step(between, pair & otherClass) : between;
			if (after < states.firstAction) nextPair[number * pairs + pair] = found.indexOf(after);
		}
	}
	if (found.length >= 1 << (16 - quadBits)) throw new RangeError('The automaton for lists has too many states.');
	const stop = found.length << quadBits;
	const next = new Uint16Array(stop).fill(stop);
	for (let first = 0; first < nextPair.length; first++) {
		const between = nextPair[first] as number;
		if (between < 0) continue;
		for (let second = 0; second < pairs; second++) {
			const after = nextPair[between * pairs + second] as number;
			if (after >= 0) next[first * pairs + second] = after << quadBits;
		}
	}
	const classes = Array.from(states.classes, (byteClass) => {
		const known = byteClasses.indexOf(byteClass);
		return known < 0 ? otherClass : known;
	});
	const pairClasses = new Uint8Array(65_536);
	const bytes = new Uint8Array(2);
	const pair = new Uint16Array(bytes.buffer);
	for (let number = 0; number < pairClasses.length; number++) {
		pair[0] = number;
		pairClasses[number] =
			((classes[bytes[0] as number] as number) << classBits) | (classes[bytes[1] as number] as number);
	}
	return { pairClasses, next, stop, states: Uint32Array.from(found) };
}

let made: Quads | null = null;

/** Skips the start of a list, if it consists of numbers, or of `true`, `false` and `null`. */
export class ListRuns {
	readonly #states = jsonStates();
	readonly #quads: Quads;
	/** State of `JsonStates` at the position that `skip` returned. */
	state = this.#states.inArray;

	constructor() {
		made ??= madeQuads(this.#states);
		this.#quads = made;
	}

	/**
	 * Starting after an opening bracket, skips to the first byte that the automaton must read.
	 * @param pairs `view`'s text as pairs of bytes
	 */
	skip(view: DataView, pairs: Uint16Array, from: number, length: number): number {
		const { inArray, beforeEntry, next, classShift, classes, firstAction } = this.#states;
		let at = skipWords(view, from, length);
		this.state = at === from ? inArray : beforeEntry;
		if (at > from || at >= length) return at;
		if ((at & 1) === 1) {
			const after = next[(inArray >> classShift) + (classes[view.getUint8(at)] as number)] as number;
			if (after >= firstAction) return at;
			at++;
			this.state = after;
		}
		const number = this.#quads.states.indexOf(this.state);
		return number < 0 ? at : this.#skipNumbers(pairs, at, length, number << quadBits);
	}

	#skipNumbers(pairs: Uint16Array, from: number, length: number, first: number): number {
		const { pairClasses, next, stop, states } = this.#quads;
		const lastPair = (length >> 1) - 2;
		let state = first;
		let pair = from >> 1;
		for (; pair <= lastPair; pair += 2) {
			const classes =
				((pairClasses[pairs[pair] as number] as number) << pairBits) +
				(pairClasses[pairs[pair + 1] as number] as number);
			const after = next[state + classes] as number;
			if (after === stop) break;
			state = after;
		}
		this.state = states[state >> quadBits] as number;
		return pair << 1;
	}
}
