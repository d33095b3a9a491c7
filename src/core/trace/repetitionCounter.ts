import { findRepetition, type Repetition } from './repetition.ts';
import { half, lowercaseUnit, ngram, space, TextScanner, unspaced } from './textScanner.ts';
import { unspacedCharacter } from './wordPlaces.ts';

/**
 * Computes the same numbers as findRepetition, an order of magnitude faster because it uses lookup tables over UTF-16
 * code units and hashes instead of regexes and strings. Letters of more than one code unit, and those whose lowercase
 * depends on their context or has another number of code units, are compared as they are. Use a single instance for many
 * strings, because it reuses its memory.
 */
export class RepetitionCounter {
	readonly #scanner: TextScanner | null;

	/** @param scanner null to use findRepetition */
	constructor(scanner = TextScanner.create()) {
		this.#scanner = scanner;
		if (scanner !== null) fillLower(scanner.lower);
	}

	/** Returns the fraction of word 4-grams that repeat earlier ones; null for fewer than four words. */
	repetition(text: string): number | null {
		const { share, ngrams } = this.repeats(text);
		return ngrams === 0 ? null : share;
	}

	/** Counts word 4-grams and returns the fraction of them that repeat earlier ones; 0 for fewer than four words. */
	repeats(text: string): Pick<Repetition, 'share' | 'ngrams'> {
		const scanner = this.#scanner;
		return scanner?.load(text) ? this.loadedRepeats(text, scanner) : findRepetition(text);
	}

	/** Like `repeats`, for a text that the scanner has already loaded. */
	loadedRepeats(text: string, scanner: TextScanner): Pick<Repetition, 'share' | 'ngrams'> {
		const words = scanner.hashWords(text.length, (at) => isUnspacedPair(text, at));
		const ngrams = words - ngram + 1;
		if (ngrams <= 0) return { share: 0, ngrams: 0 };
		const repeats = scanner.countRepeats(words);
		return repeats === -1 ? findRepetition(text) : { share: repeats / ngrams, ngrams };
	}
}

function fillLower(lower: Int32Array): void {
	for (let code = 0; code < 0x10000; code++) {
		const character = String.fromCharCode(code);
		if (code >= 0xd800 && code <= 0xdfff) lower[code] = half;
		else if (/\s/u.test(character)) lower[code] = space;
		else if (unspacedCharacter.test(character)) lower[code] = unspaced;
		else lower[code] = lowercaseUnit(code);
	}
}

function isUnspacedPair(text: string, at: number): boolean {
	const code = text.codePointAt(at) as number;
	return code > 0xffff && unspacedCharacter.test(String.fromCodePoint(code));
}
