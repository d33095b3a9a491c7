/** Token ids of the special tokens: the first three of every vocabulary. */
export const padToken = 0;
export const bosToken = 1;
export const eosToken = 2;
export const specialTokens = ['<pad>', '<bos>', '<eos>'] as const;

/** A tokenizer over whole symbols: specials, then template tags, then single characters (code points). */
export interface Tokenizer {
	/** Symbol of each id. */
	readonly symbols: readonly string[];
	/** How many of the leading symbols are tags after the three specials. */
	readonly tags: readonly string[];
	readonly size: number;
	/** Ids of a text, without bos or eos. Throws `invalid` naming the first symbol that the vocabulary lacks. */
	encode(text: string): number[];
	/** bos + text: what the policy continues. */
	encodePrompt(text: string): number[];
	/** Text of ids; an id out of range throws `invalid`. pad, bos and eos are left out unless `keepSpecials`. */
	decode(ids: ArrayLike<number>, options?: { readonly keepSpecials?: boolean }): string;
	/** Whether `encode` would succeed. */
	covers(text: string): boolean;
	/** The text of a `tokenizer.json` that Hugging Face `tokenizers` loads and that encodes identically. */
	toTokenizerJson(): string;
}

export interface VocabularySource {
	/** Tags of the template: one token each. */
	readonly tags: readonly string[];
	/** Characters that must be known. */
	readonly characters: Iterable<string>;
}
