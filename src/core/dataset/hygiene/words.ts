/**
 * Matches words, numbers, and operators, but not punctuation. Operators count because 12 + 5 and 12 - 5 are different
 * problems.
 */
const pattern = /[\p{L}\p{M}\p{N}]+|[-+*/^%=<>×÷−√]|\p{Sm}/gu;

/**
 * Splits text into units for comparison: lowercase words, numbers, and operators, without spacing or punctuation.
 * Letters that are equivalent under NFKC are treated as equal.
 */
export function wordsOf(text: string): string[] {
	return text.normalize('NFKC').toLowerCase().match(pattern) ?? [];
}
