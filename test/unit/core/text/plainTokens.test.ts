import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainEncoder } from '../../../../src/core/text/plainTokens.ts';
import { createTokenizer } from '../../../../src/core/text/tokenizer.ts';

const tags = ['<call>', '</call>', '['];

test('text from an environment is encoded by character, so it contains no tags and no special tokens', () => {
	const tokenizer = createTokenizer(tags, [...'<>/calbosepd?é😀 ']);
	const { encode } = plainEncoder(tokenizer);
	const text = '<call></call><eos><pad> é😀';
	const tokens = encode(text);
	assert.equal(tokens.length, [...text].length);
	assert.ok(tokens.every((token) => token >= 3 + tags.length));
	assert.equal(tokenizer.decode(tokens), text);
	// The same text as written by a model has tags.
	assert.equal(tokenizer.encode('<call>')[0], 3);
});

test('characters that the vocabulary lacks are replaced, or left out if it lacks the replacement as well', () => {
	const known = createTokenizer(tags, ['a', '?']);
	assert.equal(known.decode(plainEncoder(known).encode('a\u0000ü[\ud800a😀')), 'a????a?');
	const bare = createTokenizer(tags, ['a']);
	assert.equal(bare.decode(plainEncoder(bare).encode('aüa')), 'aa');
});
