import { Failure } from '../../base/failure.ts';
import { bosToken, specialTokens } from './specialTokens.ts';
import { renderTokenizerJson } from './tokenizerJson.ts';

export { bosToken, eosToken, padToken, specialTokens } from './specialTokens.ts';

/** A tokenizer over whole symbols: specials, then template tags, then single characters (code points). */
export interface Tokenizer {
	/** Symbol of each id. */
	readonly symbols: readonly string[];
	/** The template's tags: the ids after the specials. */
	readonly tags: readonly string[];
	/** Number of ids. */
	readonly size: number;
	/**
	 * Ids of a text. Specials and tags in the text become their one token (the longest that fits, as Hugging Face does).
	 * Throws `invalid` naming the first symbol that the vocabulary lacks.
	 */
	encode(text: string): number[];
	/** bos, then the text: what the policy continues. */
	encodePrompt(text: string): number[];
	/** Text of ids, without pad, bos and eos unless `keepSpecials`. An id out of range throws `invalid`. */
	decode(ids: ArrayLike<number>, options?: { readonly keepSpecials?: boolean }): string;
	/** The first symbol that `encode` would not know; null: it knows them all. */
	unknownIn(text: string): string | null;
	/** The text of a `tokenizer.json` that Hugging Face `tokenizers` loads and that encodes identically. */
	toTokenizerJson(): string;
}

/** @param characters single code points, each once */
export function createTokenizer(tags: readonly string[], characters: readonly string[]): Tokenizer {
	const symbols: readonly string[] = [...specialTokens, ...tags, ...characters];
	const ids = new Map(symbols.map((symbol, id) => [symbol, id]));
	if (ids.size !== symbols.length) throw new Failure('invalid', 'The vocabulary contains a symbol twice.');
	for (const character of characters) {
		if (character.length === 0 || character.length > 2 || [...character].length !== 1 || !character.isWellFormed()) {
			throw new Failure('invalid', `The vocabulary symbol ${JSON.stringify(character)} is not a single character.`);
		}
	}
	const whole = wholeTokens([...specialTokens, ...tags]);
	const lastTag = specialTokens.length + tags.length;

	/** The length of the symbol at a position; its id comes with it, or undefined. */
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
					throw new Failure('invalid', `Token ${id} is outside the vocabulary of ${symbols.length} symbols.`);
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

/** Tokens of several characters by their first code unit, the longest first. */
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
		`The symbol ${JSON.stringify(symbol)} (${code}) at character ${at + 1} is not in the vocabulary.`,
		'Use only characters that occur in the training data.',
	);
}
