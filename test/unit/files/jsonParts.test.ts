import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { JsonParts, type JsonShape } from '../../../src/files/jsonParts.ts';
import { checkDamagedLines, checkDamagedValues, partsOf } from '../../support/damagedJson.ts';

const partsIn = (text: string, shape: JsonShape) => partsOf(new JsonParts(shape), Buffer.from(text));

describe('parts of JSON text', () => {
	test('are the fields and entries that the shape names', () => {
		const shape = { a: true, b: { c: true }, d: [{ e: true }] } as const;
		const text =
			'{ "z": [1, {"a": 2}], "b": {"c": "\\u00e9\\"", "x": 1}, "d": [{"e": [1], "f": 2}, 3, []] , "a": -0.5e+3 }';
		assert.deepEqual(partsIn(text, shape), { b: { c: 'é"' }, d: [{ e: [1] }, 3, []], a: -500 });
		assert.deepEqual(partsIn('{"b": [1, 2], "d": {"e": 1}, "a": null}', shape), { b: [], d: {}, a: null });
		assert.deepEqual(partsIn('[{"a": 1}]', shape), []);
		assert.deepEqual(partsIn('{"a": 1, "a": {"b": 2}}', shape), { a: { b: 2 } });
	});

	test('are left to the parser if they could differ', () => {
		for (const text of [
			...['', ' ', '1', '{"a": 1', '{"a": 1}}', '{"a": 1},', '{a: 1}', '{"a" 1}', '{"a": 1,}', '{,}', '[1,]', '[1 2]'],
			...[
				'{"a": 01}',
				'{"a": 1.}',
				'{"a": .5}',
				'{"a": +1}',
				'{"a": 1e}',
				'{"a": tru}',
				'{"a": NaN}',
				'{"x": Infinity}',
			],
			...[
				'{"a": "\\x"}',
				'{"a": "\\u12g4"}',
				'{"x": "a\tb"}',
				'{"x": "\u0001"}',
				"{'a': 1}",
				'{"a": [}]}',
				'{"\\u0061": 1}',
			],
			...[`{"x": ${'['.repeat(600)}${']'.repeat(600)}}`, '\ufeff{"a": 1}', '{"a": 1} x', '[}', '{"a": 1]', '{"a":: 1}'],
		]) {
			assert.equal(partsIn(text, { a: true }), undefined, text);
		}
	});

	test('are left to the parser beyond the limit on values, toward which a long string counts as one', () => {
		const list = Buffer.from(`{"x": [${'1,'.repeat(4_000_000)}1], "a": 1}`);
		assert.equal(partsOf(new JsonParts({ a: true }), list), undefined);
		const long = Buffer.from(`{"x": "${'a'.repeat(5_000_000)}", "a": 1}`);
		assert.deepEqual(partsOf(new JsonParts({ a: true }), long), { a: 1 });
	});

	// `npm run acceptance -- importerFuzz` checks four times as many.
	test('match those of the parsed text in 2,500 damaged lines, and so do the steps', () => checkDamagedLines(2500));

	test('accept long strings and lists exactly if the parser does, wherever a byte is wrong', () =>
		checkDamagedValues(5000));
});
