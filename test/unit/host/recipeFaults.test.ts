import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { faultsBeyondSchema, faultsOf } from '../../../src/host/recipeFaults.ts';

const folder = await mkdtemp(join(tmpdir(), 'faults-'));
after(() => rm(folder, { recursive: true, force: true }));
const path = join(folder, 'a.recipe.json');

const good = {
	name: 'a',
	dataset: { path: 'train.jsonl' },
	model: { layers: 1, width: 16, heads: 2 },
	stages: [{ type: 'sft', steps: 5, learning_rate: 0.001 }],
};
const text = (changes: object) => `// a recipe\n${JSON.stringify({ ...good, ...changes }, null, '\t')}`;

test('a good recipe has no faults once its dataset is there', async () => {
	const [missing] = await faultsBeyondSchema(text({}), path);
	assert.equal(missing?.message, `There is no file "train.jsonl": paths start at the recipe's folder.`);
	assert.deepEqual([missing?.line, missing?.column], [5, 11]);
	await writeFile(join(folder, 'train.jsonl'), '');
	assert.deepEqual(await faultsBeyondSchema(text({}), path), []);
	assert.deepEqual((await faultsOf(text({}), path)).faults, []);
});

test('what the schema says is left to it; what it cannot say is not', async () => {
	assert.deepEqual(await faultsBeyondSchema(text({ unknown: 1 }), path), []);
	assert.deepEqual(await faultsBeyondSchema('{ "name": ', path), []);
	assert.deepEqual(await faultsBeyondSchema('', path), []);
	const [fault] = await faultsBeyondSchema(text({ model: { layers: 1, width: 17, heads: 2 } }), path);
	assert.equal(fault?.path, 'model.width');
});

test('a recipe that is only looked at makes nobody ask another machine for its files', async () => {
	for (const share of ['//elsewhere/share/train.jsonl', '\\\\elsewhere\\share\\train.jsonl']) {
		assert.deepEqual(await faultsBeyondSchema(text({ dataset: { path: share } }), path), []);
	}
});

test('a start says all of it', async () => {
	const { recipe, faults } = await faultsOf(text({ unknown: 1 }), path);
	assert.equal(recipe, null);
	assert.match(faults[0]?.message ?? '', /"unknown" is not a key/);
});
