/** Words and numbers; operators count, since 12 + 5 is another problem than 12 - 5; other punctuation does not. */
const pattern = /[\p{L}\p{M}\p{N}]+|[-+*/^%=<>×÷−√]|\p{Sm}/gu;

/**
 * What texts are compared by: words in lower case, numbers and operators, without spacing and punctuation. Letters that
 * Unicode holds for the same (NFKC) are the same.
 */
export function wordsOf(text: string): string[] {
	return text.normalize('NFKC').toLowerCase().match(pattern) ?? [];
}
