import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { commonPrefix, textDivergence, tokenDivergence } from '../../../../src/core/trace/divergence.ts';

test('two completions diverge at the first token that differs', () => {
	assert.deepEqual(tokenDivergence(['<think>', 'a', 'b'], ['<think>', 'a', 'c']), {
		common: 2,
		start: 8,
		otherStart: 8,
	});
	assert.deepEqual(tokenDivergence(['a', 'b'], ['a']), { common: 1, start: 1, otherStart: 1 });
	assert.deepEqual(tokenDivergence([], ['a']), { common: 0, start: 0, otherStart: 0 });
	assert.equal(tokenDivergence(['a', 'b'], ['a', 'b']), null);
	assert.deepEqual(
		tokenDivergence(['ab'], ['a', 'b']),
		{ common: 0, start: 0, otherStart: 0 },
		'the same text in different tokens',
	);
});

test('texts diverge between characters, never within one', () => {
	assert.deepEqual(textDivergence('a😀x', 'a😁x'), { common: 1, start: 1, otherStart: 1 });
	assert.deepEqual(textDivergence('a😀x', 'a😀y'), { common: 2, start: 3, otherStart: 3 });
	assert.deepEqual(textDivergence('ab', 'abc'), { common: 2, start: 2, otherStart: 2 });
	assert.equal(textDivergence('same', 'same'), null);
	assert.deepEqual(textDivergence('\ud83d', '\ud83d\ude00'), { common: 0, start: 0, otherStart: 0 });
});

test('the prefix before the divergence is equal, and the next character differs', () => {
	const random = Random.of(1, 'divergence');
	const characters = ['a', 'b', '😀', '😁', 'é', '\ud83d'];
	for (let i = 0; i < 2000; i++) {
		const word = () => Array.from({ length: random.int(8) }, () => random.pick(characters));
		const [a, b] = [word(), word()];
		const [left, right] = [a.join(''), b.join('')];
		const found = textDivergence(left, right);
		if (found === null) {
			assert.equal(left, right);
			continue;
		}
		const { start, common } = found;
		assert.equal(left.slice(0, start), right.slice(0, start));
		assert.notEqual(
			String.fromCodePoint(left.codePointAt(start) ?? 0),
			String.fromCodePoint(right.codePointAt(start) ?? 0),
		);
		assert.equal([...left.slice(0, start)].length, common);
		assert.equal(common, commonPrefix([...left], [...right]));
	}
});
