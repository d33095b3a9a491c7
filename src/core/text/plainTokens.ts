import { specialTokens, type Tokenizer } from './tokenizer.ts';

/** Replacement for characters that are not in the vocabulary. If the replacement is missing too, they are omitted. */
export const replacementCharacter = '?';

/** Encodes text that a model did not write and that must not be read as tags or special tokens. */
export interface PlainEncoder {
	/** Encodes each character as a separate token, so the text cannot contain a tag. Never throws. */
	encode(text: string): number[];
}

/**
 * Sanitizes text so that a tokenizer encodes it without errors, tags or special tokens: unknown
 * characters become the replacement, as does the first character of each tag.
 */
export function plainText(tokenizer: Tokenizer, text: string): string {
	const known = tokenizer.decode(plainEncoder(tokenizer).encode(text));
	return [...specialTokens, ...tokenizer.tags].reduce((clean, tag) => withoutTag(clean, tag), known);
}

/** Replaces the first character of each occurrence of a tag. */
export function withoutTag(text: string, tag: string): string {
	return text.replaceAll(tag, `${replacementCharacter}${tag.slice(1)}`);
}

export function plainEncoder(tokenizer: Tokenizer): PlainEncoder {
	const first = specialTokens.length + tokenizer.tags.length;
	const ids = new Map(tokenizer.symbols.slice(first).map((symbol, i) => [symbol, first + i]));
	const replacement = ids.get(replacementCharacter);
	return {
		encode(text) {
			const tokens: number[] = [];
			for (const character of text) {
				const id = ids.get(character) ?? replacement;
				if (id !== undefined) tokens.push(id);
			}
			return tokens;
		},
	};
}
