import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBoundedJson } from '../../../src/base/boundedJson.ts';
import { Random } from '../../../src/base/random.ts';

const texts = ['', '"', '\\', '\\"', '[{,', 'ü\u2028', '\\\\"['];

function madeOf(random: Random, depth: number): unknown {
	const kind = Math.floor(random.next() * (depth === 0 ? 3 : 5));
	if (kind === 0) return Math.floor(random.next() * 100);
	if (kind === 1) return texts[Math.floor(random.next() * texts.length)];
	if (kind === 2) return null;
	const inner = Array.from({ length: Math.floor(random.next() * 6) }, () => madeOf(random, depth - 1));
	return kind === 3 ? inner : Object.fromEntries(inner.map((value, i) => [`k"${i},[`, value]));
}

test('values within the limits parse exactly as with JSON.parse', () => {
	const random = Random.of(5);
	for (let i = 0; i < 300; i++) {
		// Long enough for limits to be checked.
		const value = [' '.repeat(1000), madeOf(random, 6)];
		assert.deepEqual(parseBoundedJson(JSON.stringify(value), { depth: 9, values: 10_000 }), value);
	}
});

test('limits depth and number of values, ignoring brackets in strings', () => {
	const pad = ' '.repeat(1000);
	const deep = (n: number) => `${pad}${'['.repeat(n)}${']'.repeat(n)}`;
	parseBoundedJson(deep(10), { depth: 10 });
	assert.throws(
		() => parseBoundedJson(deep(11), { depth: 10 }),
		/SyntaxError: values are nested more than 10 levels deep$/,
	);
	const many = (n: number) => `${pad}[${Array(n).fill('[]').join()}]`;
	parseBoundedJson(many(100), { values: 300 });
	assert.throws(() => parseBoundedJson(many(300), { values: 300 }), /SyntaxError: more than 300 values/);
	const text = JSON.stringify([`\\"${'[{,'.repeat(1000)}\\`]);
	assert.deepEqual(parseBoundedJson(text, { depth: 1, values: 5 }), JSON.parse(text));
	assert.throws(() => parseBoundedJson(`${pad}["open`), SyntaxError);
});
