/** Words and numbers. Operators count, because 12 + 5 and 12 - 5 are different problems; punctuation does not. */
const pattern = /[\p{L}\p{M}\p{N}]+|[-+*/^%=<>×÷−√]|\p{Sm}/gu;

/**
 * Splits text into units for comparison: lowercase words, numbers, and operators, without spacing or punctuation.
 * Letters that are equivalent under NFKC are equal.
 */
export function wordsOf(text: string): string[] {
	return text.normalize('NFKC').toLowerCase().match(pattern) ?? [];
}
