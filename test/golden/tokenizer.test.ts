import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Failure } from '../../src/base/failure.ts';
import { parseTokenizerJson } from '../../src/core/text/parseTokenizerJson.ts';
import { tokenizerInput } from './tokenizerInput.ts';

interface Golden {
	readonly tokenizer: string;
	readonly cases: readonly { text: string; ids: number[]; promptIds: number[]; decoded: string }[];
	readonly unknown: readonly { text: string; fails: boolean }[];
}

/** Written by makeTokenizerGolden.py with Hugging Face `tokenizers`. */
const golden: Golden = JSON.parse(readFileSync(new URL('../fixtures/golden/tokenizer.json', import.meta.url), 'utf8'));

describe('tokenizer.json in Hugging Face tokenizers', () => {
	const input = tokenizerInput();
	const tokenizer = parseTokenizerJson(golden.tokenizer);

	it('matches the file that we write today', () => {
		assert.equal(input.tokenizer, golden.tokenizer);
		assert.deepEqual(
			input.texts,
			golden.cases.map(({ text }) => text),
		);
	});

	it('encodes and decodes like ours', () => {
		assert.ok(golden.cases.length > 80);
		for (const { text, ids, promptIds, decoded } of golden.cases) {
			assert.deepEqual(tokenizer.encode(text), ids, text);
			assert.deepEqual(tokenizer.encodePrompt(text), promptIds, text);
			assert.equal(tokenizer.decode(promptIds), decoded, text);
		}
	});

	it('rejects the same unknown characters', () => {
		for (const { text, fails } of golden.unknown) {
			assert.ok(fails);
			assert.throws(() => tokenizer.encode(text), Failure);
		}
	});
});
