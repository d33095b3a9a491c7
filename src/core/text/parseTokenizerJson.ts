import * as v from 'valibot';
import { parseBoundedJson } from '../../base/boundedJson.ts';
import { Failure } from '../../base/failure.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import { specialTokens } from './specialTokens.ts';
import { createTokenizer, type Tokenizer } from './tokenizer.ts';

const fileSchema = v.looseObject({
	added_tokens: v.array(v.looseObject({ id: v.number(), content: v.string() })),
	model: v.looseObject({ type: v.literal('WordLevel'), vocab: v.record(v.string(), v.number()) }),
});

/** Parses a `tokenizer.json` written by `renderTokenizerJson`; throws `corrupt` or `invalid` for anything else. */
export function parseTokenizerJson(text: string, what = 'tokenizer.json'): Tokenizer {
	let value: unknown;
	try {
		value = parseBoundedJson(text);
	} catch (error) {
		throw new Failure('corrupt', `${what} is not valid JSON.`, 'Use the previous checkpoint.', { cause: error });
	}
	const file = decodeOrThrow(fileSchema, value, what);
	const entries = Object.entries(file.model.vocab);
	const symbols = new Array<string | undefined>(entries.length).fill(undefined);
	for (const [symbol, id] of entries) {
		if (!Number.isInteger(id) || id < 0 || id >= entries.length || symbols[id] !== undefined) {
			throw new Failure(
				'invalid',
				`${what} is invalid: its vocabulary ids do not run from 0 to ${entries.length - 1}.`,
			);
		}
		symbols[id] = symbol;
	}
	if (specialTokens.some((token, id) => symbols[id] !== token)) {
		throw new Failure(
			'invalid',
			`${what} was not written by this engine: ids 0 to 2 are not ${specialTokens.join(' ')}.`,
		);
	}
	const tagEnd = file.added_tokens.length;
	return createTokenizer(symbols.slice(specialTokens.length, tagEnd) as string[], symbols.slice(tagEnd) as string[]);
}
