import { specialTokens, type Tokenizer } from './tokenizer.ts';

/** Stands for characters that the vocabulary lacks. If it lacks this one as well, they are left out. */
export const replacementCharacter = '?';

/** Encodes text that a model did not write and that must not be read as tags or special tokens. */
export interface PlainEncoder {
	/** Encodes each character as a separate token, so the text cannot contain a tag. Never throws. */
	encode(text: string): number[];
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
