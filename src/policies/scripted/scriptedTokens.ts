/** Tokens of a scripted text: words with the blank before them, other characters alone; joined they are the text. */
export function scriptedTokens(text: string): string[] {
	return text.match(/ ?[\p{L}\p{N}_]+| ?[^\s\p{L}\p{N}_]|\s/gu) ?? [];
}
