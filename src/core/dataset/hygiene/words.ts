/** Words and numbers. Operators count, because 12 + 5 and 12 - 5 are different problems; other punctuation does not. */
const pattern = /[\p{L}\p{M}\p{N}]+|[-+*/^%=<>×÷−√]|\p{Sm}/gu;

/**
 * Splits a text into the units of comparison: lower-case words, numbers and operators, without spacing and punctuation.
 * Letters equivalent under NFKC are equal.
 */
export function wordsOf(text: string): string[] {
	return text.normalize('NFKC').toLowerCase().match(pattern) ?? [];
}
