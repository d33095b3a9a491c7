import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { faultsBeyondSchema, faultsOf, recipeEngine } from '../../../src/extension/recipeFaults.ts';

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

test('a valid recipe has no errors once its dataset exists', async () => {
	const [missing] = await faultsBeyondSchema(text({}), path);
	assert.equal(missing?.message, `The file "train.jsonl" does not exist (paths are relative to the recipe's folder).`);
	assert.deepEqual([missing?.line, missing?.column], [5, 11]);
	await writeFile(join(folder, 'train.jsonl'), '');
	assert.deepEqual(await faultsBeyondSchema(text({}), path), []);
	assert.deepEqual((await faultsOf(text({}), path)).faults, []);
});

test('schema errors are left to the schema, and only other errors are reported', async () => {
	assert.deepEqual(await faultsBeyondSchema(text({ unknown: 1 }), path), []);
	assert.deepEqual(await faultsBeyondSchema('{ "name": ', path), []);
	assert.deepEqual(await faultsBeyondSchema('', path), []);
	const [fault] = await faultsBeyondSchema(text({ model: { layers: 1, width: 17, heads: 2 } }), path);
	assert.equal(fault?.path, 'model.width');
});

test('viewing a recipe does not access files on other machines', async () => {
	for (const share of ['//elsewhere/share/train.jsonl', '\\\\elsewhere\\share\\train.jsonl']) {
		assert.deepEqual(await faultsBeyondSchema(text({ dataset: { path: share } }), path), []);
	}
});

test('starting a run reports all errors, including schema errors', async () => {
	const { recipe, faults } = await faultsOf(text({ unknown: 1 }), path);
	assert.equal(recipe, null);
	assert.match(faults[0]?.message ?? '', /"unknown" is not a valid key/);
});

test('missing models, pairs and labels are reported, and folders are distinguished from Hub ids', async () => {
	await writeFile(join(folder, 'train.jsonl'), '');
	await mkdir(join(folder, 'models', 'small'), { recursive: true });
	const messages = async (changes: object) =>
		(await faultsBeyondSchema(text(changes), path)).map(({ path, message }) => `${path}: ${message}`);
	const pytorch = { engine: 'pytorch', dataset: { task: 'addition' } };
	const start = "does not exist (paths are relative to the recipe's folder)";
	assert.deepEqual(await messages({ model: { path: 'Qwen/Qwen2.5-0.5B' } }), [
		`model.path: The model folder "Qwen/Qwen2.5-0.5B" ${start}, and the embedded engine only supports its own checkpoints. For a Hub model, set "engine": "pytorch".`,
	]);
	assert.deepEqual(await messages({ dataset: { path: 'openai/gsm8k' } }), [
		`dataset.path: The file "openai/gsm8k" ${start}. For a Hub dataset, set "engine": "pytorch".`,
	]);
	assert.deepEqual(await messages({ ...pytorch, model: { path: 'Qwen/Qwen2.5-0.5B' } }), []);
	assert.deepEqual(await messages({ ...pytorch, model: { path: 'models/small' } }), []);
	// The folder "models" exists, so "models/large" is not a Hub id.
	assert.deepEqual(await messages({ ...pytorch, model: { path: 'models/large' } }), [
		`model.path: The model folder "models/large" ${start}.`,
	]);
	const stages = [
		{ type: 'dpo', steps: 1, learning_rate: 1, pairs: { path: 'pairs.jsonl' } },
		{ type: 'process-reward-model', steps: 1, learning_rate: 1, labels: { path: 'steps.jsonl' } },
		{ type: 'distill', steps: 1, learning_rate: 1, data: { path: 'teacher.parquet' } },
	];
	const model = { path: './models/small', template: 'chat.jinja' };
	assert.deepEqual(
		(await messages({ ...pytorch, model, stages })).map((message) => message.split(':')[0]),
		['model.template', 'stages[0].pairs.path', 'stages[1].labels.path', 'stages[2].data.path'],
	);
	// A cluster may have access to paths that do not exist on this machine.
	const ray = { ...pytorch, engine: 'ray', model: { path: '/shared/models/large' } };
	assert.deepEqual(await messages(ray), []);
});

test('the engine is determined even if the recipe has other errors', () => {
	assert.equal(recipeEngine('{"engine": "pytorch", // comment\n "stages": 7,}'), 'pytorch');
	assert.equal(recipeEngine('{"name": "plain"}'), 'embedded');
	for (const text of ['{"engine": "foreign"}', '{"engine": 7}', '[]', 'null', '', '{']) {
		const expected = text === '{' ? 'embedded' : null;
		assert.equal(recipeEngine(text), expected, text);
	}
});

test('a missing file in a loop stage is reported once, at its position in the loop', async () => {
	const learn = { name: 'learn', type: 'sft', steps: 5, learning_rate: 0.001, data: { path: 'own.jsonl' } };
	const source = text({
		dataset: { task: 'addition', digits: 1 },
		stages: [{ loop: 'round', times: 3, stages: [learn, { name: 'measure', type: 'evaluate', from: 'learn' }] }],
	});
	const faults = await faultsBeyondSchema(source, path);
	assert.deepEqual(
		faults.map((fault) => fault.path),
		['stages[0].stages[0].data.path'],
	);
	assert.equal(source.split('\n')[(faults[0]?.line ?? 0) - 1]?.trim(), '"path": "own.jsonl"');
});
