import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { languageModelTools } from '../../scripts/languageModelTools.ts';
import { root } from '../../scripts/paths.ts';

test('package.json declares the read-only tools (run npm run docs to update it)', () => {
	const { contributes } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
		contributes: { languageModelTools: { name: string; toolReferenceName: string }[] };
	};
	assert.deepEqual(contributes.languageModelTools, languageModelTools());
	const names = contributes.languageModelTools.map(({ name }) => name);
	assert.ok(names.every((name) => /^[\w-]{1,64}$/.test(name)));
	assert.ok(!names.some((name) => /start|stop|verify|audit/.test(name)));
});
