import type { Span } from './trace.ts';

/** Scripts without spaces between words, in which each character counts as a word. */
const unspaced =
	'\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}';
const word = new RegExp(`[${unspaced}]|[^\\s${unspaced}]+`, 'gu');
/** Matches a character of a script without spaces. */
export const unspacedCharacter = new RegExp(`[${unspaced}]`, 'u');
/** What ends a word. Unlike `word`, it cannot overflow the stack on words of millions of characters. */
const boundary = new RegExp(`[\\s${unspaced}]`, 'gu');
/** Length of text up to which `word` is used, which is faster. */
const ordinaryLength = 1 << 20;

/** Returns the words in the text: runs of non-whitespace, or single characters in scripts without spaces. */
export function wordsOf(text: string): string[] {
	if (text.length <= ordinaryLength) return text.match(word) ?? [];
	return wordPlaces(text).map(({ start, end }) => text.slice(start, end));
}

/** Returns the positions of the words returned by {@link wordsOf}, in UTF-16 code units; at most `limit`. */
export function wordPlaces(text: string, limit = Number.POSITIVE_INFINITY): Span[] {
	const places: Span[] = [];
	let start = 0;
	for (const { 0: character, index } of text.matchAll(boundary)) {
		const end = index + character.length;
		if (index > start) places.push({ start, end: index });
		if (character.trim() !== '') places.push({ start: index, end });
		start = end;
		if (places.length >= limit) return places.slice(0, limit);
	}
	if (start < text.length && places.length < limit) places.push({ start, end: text.length });
	return places;
}
