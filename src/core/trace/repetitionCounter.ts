import { findRepetition, type Repetition } from './repetition.ts';
import { half, longestText, ngram, space, TextScanner, unspaced } from './textScanner.ts';

/**
 * Computes the same numbers as findRepetition, an order of magnitude faster because it uses lookup tables over UTF-16
 * code units and hashes instead of regexes and strings. Letters of more than one code unit, and those whose lowercase
 * depends on their context or has another number of code units, are compared as they are. Use a single instance for many strings, because it reuses its memory.
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
		if (this.#scanner === null || text.length > longestText) return findRepetition(text);
		this.#scanner.load(text);
		return this.loadedRepeats(text, this.#scanner);
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
	const classes: readonly (readonly [RegExp, number])[] = [
		[/\s/u, space],
		[/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u, unspaced],
	];
	for (let code = 0; code < 0x10000; code++) {
		const character = String.fromCharCode(code);
		const other = character.toLowerCase();
		lower[code] = other.length === 1 ? other.charCodeAt(0) : code;
		if (code >= 0xd800 && code <= 0xdfff) {
			lower[code] = half;
			continue;
		}
		for (const [pattern, kind] of classes) if (pattern.test(character)) lower[code] = kind;
	}
}

function isUnspacedPair(text: string, at: number): boolean {
	const code = text.codePointAt(at) as number;
	return code > 0xffff && /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}/u.test(String.fromCodePoint(code));
}
