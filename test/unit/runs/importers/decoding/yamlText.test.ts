import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseYaml } from '../../../../../src/runs/importers/decoding/yamlText.ts';

const nested = (depth: number) => `a: ${'['.repeat(depth)}1${']'.repeat(depth)}\n`;

test('values are read even with many brackets in strings and many consecutive brackets', () => {
	const texts = Array.from({ length: 300 }, () => '- "[[{"\n- |\n  {[\n- [[1], {b: [2]}]\n').join('');
	assert.deepEqual(parseYaml(texts), Array.from({ length: 300 }, () => ['[[{', '{[\n', [[1], { b: [2] }]]).flat());
	assert.doesNotThrow(() => parseYaml(nested(400)));
});

test('brackets that are nested too deeply are rejected before they are parsed', () => {
	for (const text of [nested(501), nested(60_000), `a: ${'{"a":['.repeat(60_000)}`]) {
		assert.throws(() => parseYaml(text), { message: 'its values are nested more than 500 levels deep' });
	}
});
