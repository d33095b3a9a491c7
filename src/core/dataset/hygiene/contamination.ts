import { hashText, mix32 } from '../../../base/random.ts';
import { wordsOf } from './words.ts';

/** A word sequence that occurs in both a test example and a training example. */
export interface Overlap {
	/** Number of the test example, as passed to `add`. */
	readonly test: number;
	/** Shared words, joined by spaces. */
	readonly words: string;
	/** Word index in the training example at which the overlap starts. */
	readonly at: number;
}

/** Overlap length in words, as in DeepSeek-Coder (Guo et al. 2024, section 2.4). */
export const overlapWords = 10;
export const fewestWords = 3;

interface Test {
	readonly number: number;
	readonly words: readonly string[];
}

interface Place {
	/** Index of the test example. */
	readonly test: number;
	/** Index of the first word. */
	readonly at: number;
}

/**
 * Finds training examples that leak test data: examples that share ten consecutive words with a test example, or that
 * contain an entire test example of three to nine words. Hash hits are verified against the words, so there are no
 * false positives.
 */
export class ContaminationIndex {
	readonly #tests: Test[] = [];
	/** For each n-gram length in words, maps an n-gram hash to its locations. */
	readonly #grams = new Map<number, Map<number, Place[]>>();
	#tooShort = 0;

	/** Number of test examples with fewer than three words, which are too short to search for. */
	get tooShort(): number {
		return this.#tooShort;
	}

	get size(): number {
		return this.#tests.length;
	}

	/** @param test number to report in overlaps; several examples can share a number */
	add(text: string, test: number): void {
		const words = wordsOf(text);
		if (words.length < fewestWords) {
			this.#tooShort++;
			return;
		}
		const own = this.#tests.push({ number: test, words }) - 1;
		const length = Math.min(overlapWords, words.length);
		let grams = this.#grams.get(length);
		if (grams === undefined) {
			grams = new Map();
			this.#grams.set(length, grams);
		}
		const hashes = words.map((word) => hashText(word));
		for (let at = 0; at + length <= words.length; at++) {
			const key = gramHash(hashes, at, length);
			const places = grams.get(key);
			if (places === undefined) grams.set(key, [{ test: own, at }]);
			// A phrase that occurs in many tests only needs to be found once.
			else if (places.length < 4) places.push({ test: own, at });
		}
	}

	/** Returns the first overlap between training text and a test example, or null if there is none. */
	find(text: string): Overlap | null {
		const words = wordsOf(text);
		if (words.length < fewestWords) return null;
		const hashes = words.map((word) => hashText(word));
		for (const [length, grams] of this.#grams) {
			for (let at = 0; at + length <= words.length; at++) {
				const place = grams
					.get(gramHash(hashes, at, length))
					?.find((candidate) => this.#same(words, at, length, candidate));
				if (place === undefined) continue;
				return {
					test: (this.#tests[place.test] as Test).number,
					words: words.slice(at, at + length).join(' '),
					at,
				};
			}
		}
		return null;
	}

	#same(words: readonly string[], at: number, length: number, place: Place): boolean {
		const test = this.#tests[place.test]?.words ?? [];
		for (let i = 0; i < length; i++) if (words[at + i] !== test[place.at + i]) return false;
		return true;
	}
}

/** Returns a 53-bit hash of the word hashes from `at` to `at + length`. */
function gramHash(hashes: readonly number[], at: number, length: number): number {
	let low = 0x811c9dc5;
	let high = 0x9e3779b9;
	for (let i = at; i < at + length; i++) {
		low = Math.imul(low ^ (hashes[i] as number), 0x01000193);
		high = mix32(high ^ (hashes[i] as number));
	}
	return (high & 0x1fffff) * 4294967296 + (low >>> 0);
}
