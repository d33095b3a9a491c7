import { Failure } from '../../base/failure.ts';
import { bosToken, specialTokens } from './specialTokens.ts';
import { renderTokenizerJson } from './tokenizerJson.ts';

export { bosToken, eosToken, padToken, specialTokens } from './specialTokens.ts';

/** Tokenizer whose vocabulary is special tokens, then template tags, then single characters (code points). */
export interface Tokenizer {
	/** Symbols by id. */
	readonly symbols: readonly string[];
	/** Template tags; their ids follow the special tokens. */
	readonly tags: readonly string[];
	/** Vocabulary size. */
	readonly size: number;
	/**
	 * Encodes text. Special tokens and tags in the text become single tokens (longest match, as in Hugging Face). Throws
	 * `invalid` with the first symbol that is not in the vocabulary.
	 */
	encode(text: string): number[];
	/** Encodes a prompt: bos, followed by the text that the policy continues. */
	encodePrompt(text: string): number[];
	/** Decodes ids, omitting pad, bos and eos unless `keepSpecials` is set. Throws `invalid` for an out-of-range id. */
	decode(ids: ArrayLike<number>, options?: { readonly keepSpecials?: boolean }): string;
	/** Returns the first symbol that is not in the vocabulary; null if there is none. */
	unknownIn(text: string): string | null;
	/** Returns a `tokenizer.json` that Hugging Face `tokenizers` can load and that encodes identically. */
	toTokenizerJson(): string;
}

/** @param characters single code points, without duplicates */
export function createTokenizer(tags: readonly string[], characters: readonly string[]): Tokenizer {
	const symbols: readonly string[] = [...specialTokens, ...tags, ...characters];
	const ids = new Map(symbols.map((symbol, id) => [symbol, id]));
	if (ids.size !== symbols.length) throw new Failure('invalid', 'The vocabulary contains a duplicate symbol.');
	for (const character of characters) {
		if (character.length === 0 || character.length > 2 || [...character].length !== 1 || !character.isWellFormed()) {
			throw new Failure('invalid', `The vocabulary symbol ${JSON.stringify(character)} is not a single character.`);
		}
	}
	const whole = wholeTokens([...specialTokens, ...tags]);
	const lastTag = specialTokens.length + tags.length;

	/** Returns the symbol at a position. */
	const symbolAt = (text: string, at: number): string => {
		for (const token of whole.get(text.charCodeAt(at)) ?? []) if (text.startsWith(token, at)) return token;
		return String.fromCodePoint(text.codePointAt(at) as number);
	};

	const encode = (text: string): number[] => {
		const out: number[] = [];
		for (let at = 0; at < text.length; ) {
			const symbol = symbolAt(text, at);
			const id = ids.get(symbol);
			if (id === undefined) throw unknownSymbol(symbol, at);
			out.push(id);
			at += symbol.length;
		}
		return out;
	};

	return {
		symbols,
		tags,
		size: symbols.length,
		encode,
		encodePrompt: (text) => [bosToken, ...encode(text)],
		decode(list, options) {
			let text = '';
			for (let i = 0; i < list.length; i++) {
				const id = list[i] as number;
				const symbol = symbols[id];
				if (symbol === undefined) {
					throw new Failure('invalid', `Token ${id} is out of range for a vocabulary of ${symbols.length} symbols.`);
				}
				if (id >= specialTokens.length || options?.keepSpecials) text += symbol;
			}
			return text;
		},
		unknownIn(text) {
			for (let at = 0; at < text.length; ) {
				const symbol = symbolAt(text, at);
				if (!ids.has(symbol)) return symbol;
				at += symbol.length;
			}
			return null;
		},
		toTokenizerJson: () => renderTokenizerJson(symbols, lastTag),
	};
}

/** Groups multi-character tokens by their first code unit, longest first. */
function wholeTokens(tokens: readonly string[]): Map<number, string[]> {
	const byFirst = new Map<number, string[]>();
	for (const token of tokens) {
		const list = byFirst.get(token.charCodeAt(0)) ?? [];
		list.push(token);
		byFirst.set(token.charCodeAt(0), list);
	}
	for (const list of byFirst.values()) list.sort((a, b) => b.length - a.length);
	return byFirst;
}

function unknownSymbol(symbol: string, at: number): Failure {
	const code = `U+${(symbol.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`;
	return new Failure(
		'invalid',
		`Symbol ${JSON.stringify(symbol)} (${code}) at character ${at + 1} is not in the vocabulary.`,
		'Use only characters that occur in the training data.',
	);
}
