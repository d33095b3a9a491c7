import { bosToken, specialTokens } from './specialTokens.ts';

/**
 * Renders a `tokenizer.json` for Hugging Face `tokenizers`: a WordLevel model over single characters, with special
 * tokens and tags as added tokens. The loaded tokenizer's `encode(text)` prepends bos; with `add_special_tokens=False`,
 * it is equivalent to `Tokenizer.encode`.
 * @param tagEnd first id after the special tokens and tags
 */
export function renderTokenizerJson(symbols: readonly string[], tagEnd: number): string {
	const added = symbols.slice(0, tagEnd).map((content, id) => ({
		id,
		content,
		single_word: false,
		lstrip: false,
		rstrip: false,
		normalized: false,
		// Tags are part of the completion text, so decoding skips only special tokens.
		special: id < specialTokens.length,
	}));
	const bos = specialTokens[bosToken];
	return `${JSON.stringify(
		{
			version: '1.0',
			truncation: null,
			padding: null,
			added_tokens: added,
			normalizer: null,
			pre_tokenizer: { type: 'Split', pattern: { Regex: '[\\s\\S]' }, behavior: 'Isolated', invert: false },
			post_processor: {
				type: 'TemplateProcessing',
				single: [{ SpecialToken: { id: bos, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
				pair: [
					{ SpecialToken: { id: bos, type_id: 0 } },
					{ Sequence: { id: 'A', type_id: 0 } },
					{ Sequence: { id: 'B', type_id: 0 } },
				],
				special_tokens: { [bos]: { id: bos, ids: [bosToken], tokens: [bos] } },
			},
			decoder: { type: 'Fuse' },
			// WordLevel requires an unk token. One that is not in the vocabulary makes unknown characters an error in Hugging
			// Face too.
			model: {
				type: 'WordLevel',
				vocab: Object.fromEntries(symbols.map((symbol, id) => [symbol, id])),
				unk_token: '[UNK]',
			},
		},
		null,
		2,
	)}\n`;
}
