/**
 * Splits a scripted text into tokens: words with their preceding space, and other characters individually. Joining the
 * tokens restores the text.
 */
export function scriptedTokens(text: string): string[] {
	return text.match(/ ?[\p{L}\p{N}_]+| ?[^\s\p{L}\p{N}_]|\s/gu) ?? [];
}
