import type { Span } from './trace.ts';

/** Scripts without spaces between words, in which each character counts as a word. */
const unspaced =
	'\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}';
const word = new RegExp(`[${unspaced}]|[^\\s${unspaced}]+`, 'gu');

/** Returns the words in the text: runs of non-whitespace, or single characters in scripts without spaces. */
export function wordsOf(text: string): string[] {
	return text.match(word) ?? [];
}

/** Returns the positions of the words returned by {@link wordsOf}, in UTF-16 code units; at most `limit`. */
export function wordPlaces(text: string, limit = Number.POSITIVE_INFINITY): Span[] {
	const places: Span[] = [];
	for (const match of text.matchAll(word)) {
		if (places.length >= limit) break;
		places.push({ start: match.index, end: match.index + match[0].length });
	}
	return places;
}
