import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readRunRecipe } from '../../../src/runs/recipeFile.ts';

test('a duplicate key in the file is reported, even with command-line overrides', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'rf-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	const path = join(folder, 'a.recipe.json');
	const text = `{ "name": "a", "dataset": { "task": "addition" }, "model": { "layers": 1, "width": 16, "heads": 2 },
		"stages": [{ "type": "sft", "steps": 1, "learning_rate": 0.1 }] }`;
	const change = (value: unknown) => ({ ...(value as object), seed: 3 });
	await writeFile(path, text);
	assert.equal((await readRunRecipe(path, change)).seed, 3);
	await writeFile(path, text.replace('"name": "a",', '"name": "a", "name": "b",'));
	for (const asked of [undefined, change]) {
		await assert.rejects(readRunRecipe(path, asked), /line 1, .*Duplicate key "name"\. Remove one\./);
	}
});
