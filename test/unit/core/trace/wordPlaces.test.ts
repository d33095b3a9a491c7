import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { wordPlaces, wordsOf } from '../../../../src/core/trace/wordPlaces.ts';

describe('words', () => {
	it('are the same in lists and by position', () => {
		const random = Random.of(1, 'words');
		const parts = ['a', 'word', ' ', '\n', '\u00a0', '\ufeff', '\u2028', '\0', '\u200b', '数', 'か', 'ไ', '가'];
		const all = [...parts, '𠀀', '😀', '𝒳', '\ud800', '\udc00'];
		for (let round = 0; round < 3000; round++) {
			const text = Array.from({ length: random.int(30) }, () => random.pick(all)).join('');
			const words = wordsOf(text);
			const limit = random.int(8);
			const found = wordPlaces(text, limit).map(({ start, end }) => text.slice(start, end));
			assert.deepEqual(found, words.slice(0, limit), JSON.stringify(text));
			assert.deepEqual(
				wordPlaces(text).map(({ start, end }) => text.slice(start, end)),
				words,
			);
		}
		assert.deepEqual(wordsOf('Two 数学 words\u00a0\n'), ['Two', '数', '学', 'words']);
	});

	it('can have tens of millions of characters', () => {
		const long = 'a'.repeat(30 << 20);
		for (let round = 0; round < 3; round++) {
			assert.deepEqual(wordPlaces(`${long} b`), [
				{ start: 0, end: long.length },
				{ start: long.length + 1, end: long.length + 2 },
			]);
			assert.deepEqual(
				wordsOf(`${long} b`).map(({ length }) => length),
				[long.length, 1],
			);
		}
	});
});
