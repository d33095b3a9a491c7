/**
 * Splits scripted text into tokens: each word with its preceding space, and every other character by itself.
 * Concatenating the tokens restores the text.
 */
export function scriptedTokens(text: string): string[] {
	return text.match(/ ?[\p{L}\p{N}_]+| ?[^\s\p{L}\p{N}_]|\s/gu) ?? [];
}
