import { CodeUnits } from './codeUnits.ts';
import type { Repetition } from './repetition.ts';

const ngram = 4;
const maxWords = 200_000;

/** Classes of code units other than those of ordinary words. */
const space = -1;
/** Script without spaces: each character is a word. */
const unspaced = -2;
/** Half of a surrogate pair. */
const half = -3;

/**
 * Computes the same numbers as findRepetition, an order of magnitude faster because it uses lookup tables over UTF-16
 * code units and hashes instead of regexes and strings. Letters whose lowercase depends on their context, or has another
 * number of code units, are compared as they are. Use a single instance for many strings, because it reuses its memory.
 */
export class RepetitionCounter {
	/** Code unit -> its lowercase, if that is a single code unit; or one of the classes above. */
	readonly #lower = new Int32Array(0x10000);
	readonly #units: CodeUnits;
	#words = new Int32Array(1024);
	#table = new Int32Array(4096);
	#generation = 0;

	/** @param units the array that texts are copied to */
	constructor(units = new CodeUnits()) {
		this.#units = units;
		const classes: readonly (readonly [RegExp, number])[] = [
			[/\s/u, space],
			[
				/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u,
				unspaced,
			],
		];
		for (let code = 0; code < 0x10000; code++) {
			const character = String.fromCharCode(code);
			const lower = character.toLowerCase();
			this.#lower[code] = lower.length === 1 ? lower.charCodeAt(0) : code;
			if (code >= 0xd800 && code <= 0xdfff) {
				this.#lower[code] = half;
				continue;
			}
			for (const [pattern, kind] of classes) if (pattern.test(character)) this.#lower[code] = kind;
		}
	}

	/** Returns the fraction of word 4-grams that repeat earlier ones; null for fewer than four words. */
	repetition(text: string): number | null {
		const { share, ngrams } = this.repeats(text);
		return ngrams === 0 ? null : share;
	}

	/** Counts word 4-grams and returns the fraction of them that repeat earlier ones; 0 for fewer than four words. */
	repeats(text: string): Pick<Repetition, 'share' | 'ngrams'> {
		return this.repeatsIn(text, this.#units.of(text));
	}

	/** Like `repeats`, for a text whose code units have already been copied to an array. */
	repeatsIn(text: string, units: Uint16Array): Pick<Repetition, 'share' | 'ngrams'> {
		const words = this.#hashWords(text, units);
		const ngrams = words - ngram + 1;
		if (ngrams <= 0) return { share: 0, ngrams: 0 };
		let size = 4096;
		while (size < ngrams * 2) size *= 2;
		// Each slot has three entries: the generation that wrote it, and the two halves of the 64-bit n-gram hash.
		if (this.#table.length < size * 3 || this.#generation === 0x7fffffff) {
			this.#table = new Int32Array(size * 3);
			this.#generation = 0;
		}
		const turn = ++this.#generation;
		const table = this.#table;
		const hashes = this.#words;
		let repeated = 0;
		let [firstA, secondA, thirdA] = [hashes[0] as number, hashes[2] as number, hashes[4] as number];
		let [firstB, secondB, thirdB] = [hashes[1] as number, hashes[3] as number, hashes[5] as number];
		for (let i = 3; i < words; i++) {
			const fourthA = hashes[2 * i] as number;
			const fourthB = hashes[2 * i + 1] as number;
			// Sums of products, unlike a chain of steps, are computed in parallel by the processor.
			let a = Math.imul(firstA, 0x9e3779b1) + Math.imul(secondA, 0x85ebca6b);
			a = (a + Math.imul(thirdA, 0xc2b2ae35) + Math.imul(fourthA, 0x27d4eb2f)) | 0;
			let b = Math.imul(firstB, 0x165667b1) + Math.imul(secondB, 0x2c1b3c6d);
			b = (b + Math.imul(thirdB, 0x297a2d39) + Math.imul(fourthB, 0x7f4a7c15)) | 0;
			a ^= a >>> 15;
			firstA = secondA;
			secondA = thirdA;
			thirdA = fourthA;
			firstB = secondB;
			secondB = thirdB;
			thirdB = fourthB;
			for (let slot = (a ^ (b >>> 7)) & (size - 1); ; slot = (slot + 1) & (size - 1)) {
				const at = slot * 3;
				if (table[at] !== turn) {
					table[at] = turn;
					table[at + 1] = a;
					table[at + 2] = b;
					break;
				}
				if (table[at + 1] === a && table[at + 2] === b) {
					repeated++;
					break;
				}
			}
		}
		return { share: repeated / ngrams, ngrams };
	}

	/** Hashes the words in order; returns the number of words. */
	#hashWords(text: string, units: Uint16Array): number {
		const lower = this.#lower;
		const length = text.length;
		let count = 0;
		let hash = start;
		let inside = false;
		for (let i = 0; i < length; i++) {
			const code = units[i] as number;
			let unit = lower[code] as number;
			if (unit === half) unit = isUnspacedPair(text, i) ? unspaced : code;
			if (unit >= 0) {
				hash = Math.imul(hash ^ unit, 0x01000193);
				inside = true;
				continue;
			}
			if (inside) {
				this.#keep(count++, hash);
				hash = start;
				inside = false;
			}
			if (unit === unspaced) {
				const character = lower[code] === half ? (text.codePointAt(i) as number) : code;
				this.#keep(count++, Math.imul(character + 0x51ed, 0x2c1b3c6d));
				if (character > 0xffff) i++;
			}
			if (count >= maxWords) return maxWords;
		}
		if (inside) this.#keep(count++, hash);
		return count;
	}

	/** Keeps two different hashes for each word, because sums of the same one could cancel out in both halves. */
	#keep(at: number, hash: number): void {
		if (2 * at >= this.#words.length) {
			const larger = new Int32Array(this.#words.length * 2);
			larger.set(this.#words);
			this.#words = larger;
		}
		this.#words[2 * at] = mixed(hash);
		this.#words[2 * at + 1] = mixed(hash ^ 0x5bd1e995);
	}
}

/** Hash before the first code unit of a word. */
const start = 0x811c9dc5 | 0;

/** Spreads differences of a hash across all its bits. */
function mixed(hash: number): number {
	const once = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
	const twice = Math.imul(once ^ (once >>> 15), 0x846ca68b);
	return twice ^ (twice >>> 16);
}

function isUnspacedPair(text: string, at: number): boolean {
	const code = text.codePointAt(at) as number;
	return code > 0xffff && /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}/u.test(String.fromCodePoint(code));
}
