import { type Behavior, behaviors } from './behaviorNames.ts';
import { englishPhrases, otherPhrases } from './behaviorPhrases.ts';
import { countBehaviors, findBehaviors } from './behaviors.ts';
import { RepetitionCounter } from './repetitionCounter.ts';
import {
	blockLength,
	letter,
	lowercaseUnit,
	lowHalf,
	prefixLength,
	startsPhrase,
	startsUnspaced,
	TextScanner,
} from './textScanner.ts';
import type { Span, Trace } from './trace.ts';

export interface TraceCounts {
	/** Parallel to `behaviors`. */
	readonly behaviors: readonly number[];
	/** Fraction of word 4-grams that repeat earlier ones; null for fewer than four words. */
	readonly repetition: number | null;
}

/**
 * Returns the span of the thinking: the think section; everything before the closing tag if the section was opened in
 * the prompt; or the whole completion if there are no tags.
 */
export function thinkingSpan(trace: Pick<Trace, 'thinkSpan' | 'tags'>, length: number): Span {
	if (trace.thinkSpan !== null) return trace.thinkSpan;
	if (trace.tags.length === 0) return { start: 0, end: length };
	const close = trace.tags.find((tag) => tag.section === 'think' && tag.kind === 'close');
	return { start: 0, end: close?.start ?? 0 };
}

const maxMarks = 10_000;

/**
 * Computes the same counts as findBehaviors and findRepetition, for indexing a million rollouts. It is an order of
 * magnitude faster because it uses lookup tables over UTF-16 code units instead of regexes and strings. Use a single
 * instance for many strings, because it reuses its memory.
 */
export class TraceCounter {
	readonly #scanner: TextScanner | null;
	readonly #repetition: RepetitionCounter;
	/** Code unit -> bits: how phrases can start with it, and whether it is a letter, digit or underscore. */
	readonly #classes: Uint8Array;
	/** Code unit -> column in the tries; 0 if no phrase contains it. */
	readonly #symbol: Uint8Array;
	readonly #columns: number;
	/** node * columns + symbol -> node; 0 for none. Node 1 is the root for whole-word phrases, node 2 for all others. */
	readonly #next: Uint16Array;
	/** node -> 1-based behavior that ends at the node. */
	readonly #end: Uint8Array;
	/** See TextScanner.findPlaces. */
	readonly #likelyRoot: number;

	/** @param scanner null to use findBehaviors and findRepetition */
	constructor(scanner = TextScanner.create()) {
		this.#scanner = scanner;
		this.#repetition = new RepetitionCounter(scanner);
		this.#classes = scanner?.classes ?? new Uint8Array(0x10000);
		this.#symbol = scanner?.symbols ?? new Uint8Array(0x10000);
		for (let code = 0; code < 0x10000; code++) {
			const character = String.fromCharCode(code);
			if (code >= 0xdc00 && code <= 0xdfff) this.#classes[code] = lowHalf;
			else if (/[\p{L}\p{N}_]/u.test(character)) this.#classes[code] = letter;
		}
		const phrases = new Map<string, Behavior>();
		for (const list of [englishPhrases, ...Object.values(otherPhrases)]) {
			for (const behavior of behaviors) for (const phrase of list[behavior]) phrases.set(phrase, behavior);
		}
		const codes = new Set([...phrases.keys()].flatMap((phrase) => [...phrase].map((c) => c.charCodeAt(0))));
		this.#columns = codes.size + 1;
		const symbols = new Map([...codes].map((code, i) => [code, i + 1]));
		for (let code = 0; code < 0x10000; code++) {
			this.#symbol[code] = symbols.get(code === 0x2019 ? 0x27 : lowercaseUnit(code)) ?? 0;
		}
		const next: number[] = new Array(3 * this.#columns).fill(0);
		const end = [0, 0, 0];
		for (const [phrase, behavior] of phrases) {
			const kind = /\p{Script=Han}/u.test(phrase) ? unspacedRoot : wordRoot;
			let node = kind;
			for (let i = 0; i < phrase.length; i++) {
				const at = node * this.#columns + (this.#symbol[phrase.charCodeAt(i)] as number);
				if (next[at] === 0) {
					next[at] = end.length;
					end.push(0);
					for (let k = 0; k < this.#columns; k++) next.push(0);
				}
				node = next[at] as number;
			}
			end[node] = behaviors.indexOf(behavior) + 1;
		}
		this.#next = Uint16Array.from(next);
		this.#end = Uint8Array.from(end);
		for (let code = 0; code < 0x10000; code++) {
			const symbol = this.#symbol[code] as number;
			if (symbol === 0) continue;
			if (this.#next[wordRoot * this.#columns + symbol] !== 0) (this.#classes[code] as number) |= startsPhrase;
			if (this.#next[unspacedRoot * this.#columns + symbol] !== 0) (this.#classes[code] as number) |= startsUnspaced;
		}
		const rows = likelyPrefixes(this.#next, this.#end, this.#columns);
		scanner?.likely.set(rows.map((row) => 4 * row));
		this.#likelyRoot = 4 * likelyRoot * this.#columns;
	}

	/** Counts behaviors in the thinking and measures repetition in the whole text. */
	count(text: string, thinking: Span): TraceCounts {
		const scanner = this.#scanner;
		if (!scanner?.load(text)) {
			return { behaviors: this.countBehaviors(text, thinking), repetition: this.repetition(text) };
		}
		const { share, ngrams } = this.#repetition.loadedRepeats(text, scanner);
		return { behaviors: this.#loadedBehaviors(text, scanner, thinking), repetition: ngrams === 0 ? null : share };
	}

	/** Counts each behavior in a range of the text. */
	countBehaviors(text: string, range: Span): number[] {
		const scanner = this.#scanner;
		if (!scanner?.load(text)) {
			const found = countBehaviors(findBehaviors(text.slice(range.start, range.end)));
			return behaviors.map((behavior) => found[behavior]);
		}
		return this.#loadedBehaviors(text, scanner, range);
	}

	#loadedBehaviors(text: string, scanner: TextScanner, { start, end: wanted }: Span): number[] {
		const range = { start, end: Math.min(wanted, text.length) };
		const counts = new Array<number>(behaviors.length).fill(0);
		const { units, places } = scanner;
		let marks = 0;
		let free = range.start;
		for (let block = range.start; block < range.end; block += blockLength) {
			const end = Math.min(range.end, block + blockLength);
			const found = scanner.findPlaces(block, end, this.#likelyRoot);
			for (let k = 0; k < found; k++) {
				const at = places[k] as number;
				const match = at < free ? 0 : this.#matchAt(text, units, at, range);
				if (match === 0) continue;
				(counts[(match & 7) - 1] as number)++;
				free = at + (match >> 3);
				if (++marks >= maxMarks) return counts;
			}
		}
		return counts;
	}

	/** Whether the character before a position is a letter, and not before the start of the range. */
	#letterBefore(text: string, units: Uint16Array, at: number, start: number): boolean {
		if (at <= start) return false;
		const bits = this.#classes[units[at - 1] as number] as number;
		if (bits !== lowHalf) return (bits & letter) !== 0;
		return at - 1 > start && isLetterPair(text.codePointAt(at - 2) as number);
	}

	/** Returns the longest phrase that starts at a position, as #match does. */
	#matchAt(text: string, units: Uint16Array, at: number, { start, end }: Span): number {
		const bits = this.#classes[units[at] as number] as number;
		const word = (bits & startsPhrase) !== 0 && !this.#letterBefore(text, units, at, start);
		const found = word ? this.#match(text, units, at, end, wordRoot) : 0;
		return found === 0 && (bits & startsUnspaced) !== 0 ? this.#match(text, units, at, end, unspacedRoot) : found;
	}

	/** Returns the fraction of word 4-grams that repeat earlier ones; null for fewer than four words. */
	repetition(text: string): number | null {
		return this.#repetition.repetition(text);
	}

	/** Returns the longest phrase at a position, as length * 8 + 1-based behavior; 0 if there is none. */
	#match(text: string, units: Uint16Array, from: number, end: number, root: number): number {
		let node = root;
		let best = 0;
		for (let i = from; i < end; i++) {
			const symbol = this.#symbol[units[i] as number] as number;
			if (symbol === 0) break;
			node = this.#next[node * this.#columns + symbol] as number;
			if (node === 0) break;
			const behavior = this.#end[node] as number;
			if (behavior !== 0 && (root === unspacedRoot || !this.#letterAt(text, i + 1, end))) {
				best = (i + 1 - from) * 8 + behavior;
			}
		}
		return best;
	}

	#letterAt(text: string, at: number, end: number): boolean {
		if (at >= end) return false;
		const code = text.charCodeAt(at);
		if (code < 0xd800 || code > 0xdbff) return ((this.#classes[code] as number) & letter) !== 0;
		// A pair that the end splits is not a letter.
		return at + 1 < end && isLetter(text.codePointAt(at) as number);
	}
}

/** Nodes of the tries that are their roots. */
const wordRoot = 1;
const unspacedRoot = 2;

/** Row of likelyPrefixes to start with. */
const likelyRoot = 2;

/**
 * Returns an automaton that reads the first symbols at a position and ends in row 1 if a whole-word phrase can start with
 * them, or in row 0. Row + symbol -> row, where rows are multiples of `columns`.
 * @param next, end the tries of TraceCounter
 */
function likelyPrefixes(next: Uint16Array, end: Uint8Array, columns: number): Int32Array {
	const rows: number[] = [...new Array(columns).fill(0), ...new Array(columns).fill(columns)];
	const add = (node: number, depth: number): number => {
		if (node === 0) return 0;
		if (end[node] !== 0 || depth === prefixLength) return columns;
		const row = rows.length;
		for (let symbol = 0; symbol < columns; symbol++) rows.push(0);
		for (let symbol = 0; symbol < columns; symbol++) {
			rows[row + symbol] = add(next[node * columns + symbol] as number, depth + 1);
		}
		return row;
	};
	add(wordRoot, 0);
	return Int32Array.from(rows);
}

function isLetterPair(code: number): boolean {
	return code > 0xffff && isLetter(code);
}

function isLetter(code: number): boolean {
	return /[\p{L}\p{N}_]/u.test(String.fromCodePoint(code));
}
