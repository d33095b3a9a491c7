import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { prepareChild, prepareRun } from '../../../src/runs/prepareRun.ts';
import { parseOverride } from '../../../src/runs/recipeOverrides.ts';
import { RunWriter } from '../../../src/runs/runWriter.ts';
import { initialRecord, temporaryFolder } from './runFixtures.ts';

const recipe = {
	name: 'two digits',
	dataset: { task: 'addition', digits: 2 },
	model: { layers: 1, width: 16, heads: 2 },
	stages: [
		{ type: 'sft', steps: 5, learning_rate: 0.001 },
		{ type: 'grpo', steps: 4, learning_rate: 0.0001 },
	],
};

async function recipeFile(context: TestContext, value: unknown = recipe): Promise<string> {
	const path = join(await temporaryFolder(context), 'r.recipe.json');
	await writeFile(path, typeof value === 'string' ? value : JSON.stringify(value));
	return path;
}

test('a run folder is created next to the recipe, with the resolved recipe', async (context) => {
	const path = await recipeFile(context, `// a comment\n${JSON.stringify(recipe).replace(/\}$/, ',}')}`);
	const { folder, recipe: resolved } = await prepareRun(path);
	assert.equal(dirname(folder), join(dirname(path), 'runs'));
	assert.match(basename(folder), /^two digits-\d{8}-\d{6}-[0-9a-f]{4}$/);
	assert.deepEqual(JSON.parse(await readFile(join(folder, 'recipe.json'), 'utf8')), resolved);
	assert.equal(resolved.seed, 1);
	assert.ok(resolved.workers >= 1);
	const other = await prepareRun(path, { seed: 7, control: 'shuffle', set: [parseOverride('stages.0.steps=9')] });
	assert.notEqual(other.folder, folder);
	assert.equal(other.recipe.seed, 7);
	assert.equal(other.recipe.stages[0]?.steps, 9);
	assert.equal((other.recipe.stages[1] as { control?: unknown }).control, 'shuffle');
});

test('an invalid recipe creates no folder and is reported with its location', async (context) => {
	const cases: [unknown, RegExp][] = [
		['{ "name": "a", }}', /line 1/],
		['', /empty/],
		[{ ...recipe, color: 'red' }, /"color" is not a valid key/],
		[{ ...recipe, stages: [{ type: 'sft', steps: 'many', learning_rate: 1 }] }, /"steps" must be a whole number/],
		[{ ...recipe, model: { layers: 1, width: 30, heads: 4 } }, /not a multiple of "heads"/],
		[{ ...recipe, name: '../../etc' }, /"name" is not a valid folder name/],
		[{ ...recipe, dataset: { path: 'gone.jsonl' } }, /refers to .*gone\.jsonl, which does not exist/],
		[{ ...recipe, dataset: { path: '.' } }, /contains neither Parquet files nor a dataset/],
		[{ ...recipe, rewards: [{ file: 'no.reward.ts' }] }, /rewards\[0\]\.file/],
		[{ ...recipe, model: { path: 'nowhere' } }, /model\.path/],
	];
	for (const [value, message] of cases) {
		const path = await recipeFile(context, value);
		await assert.rejects(prepareRun(path), (error: Error & { reason?: string }) => {
			assert.match(error.message, message);
			assert.ok(error.message.includes(path), `${error.message} names ${path}`);
			assert.ok(error.reason === 'invalid' || error.reason === 'missing', error.reason);
			return true;
		});
		assert.deepEqual(await readdir(dirname(path)), ['r.recipe.json']);
	}
	await assert.rejects(prepareRun('/nowhere/x.recipe.json'), { reason: 'missing' });
	await assert.rejects(prepareRun(dirname(await recipeFile(context))), { reason: 'invalid', message: /is not a file/ });
});

test('a pytorch recipe must reference existing folders, Hub ids and files', async (context) => {
	const pytorch = { ...recipe, engine: 'pytorch', dataset: { preset: 'gsm8k' }, model: { path: 'Qwen/Qwen2.5-0.5B' } };
	const resolved = async (changes: object, folders: readonly string[] = []) => {
		const path = await recipeFile(context, { ...pytorch, ...changes });
		for (const folder of folders) await mkdir(join(dirname(path), folder), { recursive: true });
		return { folder: dirname(path), recipe: (await prepareRun(path)).recipe };
	};
	const hub = await resolved({});
	assert.deepEqual(hub.recipe.model, { path: 'Qwen/Qwen2.5-0.5B' });
	assert.equal('path' in hub.recipe.dataset && hub.recipe.dataset.path, 'openai/gsm8k');
	const local = await resolved({ model: { path: 'models/small' } }, ['models/small']);
	assert.deepEqual(local.recipe.model, { path: join(local.folder, 'models', 'small') });
	await assert.rejects(resolved({ model: { path: 'models/large' } }, ['models/small']), {
		reason: 'missing',
		message: /"model\.path" in .* refers to .*large, which does not exist/,
	});
	const pairs = { path: 'pairs.jsonl' };
	await assert.rejects(resolved({ stages: [{ type: 'dpo', steps: 1, learning_rate: 1, pairs }] }), {
		reason: 'missing',
		message: /"stages\[0\]\.pairs\.path"/,
	});
	const ray = await resolved({ engine: 'ray', model: { path: '/shared/of/the/cluster' } });
	assert.deepEqual(ray.recipe.model, { path: '/shared/of/the/cluster' });
	await assert.rejects(resolved({ engine: 'ray', dataset: { path: 'data.parquet' } }), /"dataset\.path"/);
});

test('an override with an unknown path is reported, and prototypes are inaccessible', async (context) => {
	const path = await recipeFile(context);
	for (const [text, message] of [
		['stages.9.steps=1', /has no entry 9; it has 2/],
		['name.first=1', /name has no keys/],
		['stages.x.steps=1', /has no entry x/],
		['__proto__.a=1', /not a recipe key/],
		['foo=1', /"foo" is not a valid key/],
	] as const) {
		await assert.rejects(prepareRun(path, { set: [parseOverride(text)] }), { reason: 'invalid', message }, text);
	}
	for (const text of ['steps', '=5', 'a..b=1', ''])
		assert.throws(() => parseOverride(text), { reason: 'invalid' }, text);
	assert.deepEqual(parseOverride('template=r1').value, 'r1');
	assert.deepEqual(parseOverride('a.b=x=y'), { path: ['a', 'b'], value: 'x=y' });
});

test('a run branches from the given checkpoint, or from the latest', async (context) => {
	const parent = (await prepareRun(await recipeFile(context))).folder;
	await assert.rejects(prepareChild(parent, null), { reason: 'missing', message: /no complete checkpoint/ });
	const writer = await RunWriter.create(parent, initialRecord);
	for (const step of [3, 6]) {
		await writeFile(join(await writer.beginCheckpoint(step), 'model.safetensors'), 'w');
		await writer.commitCheckpoint(step);
	}
	await writer.close();
	const newest = await prepareChild(parent, null);
	assert.equal(newest.parentCheckpoint, join(parent, 'checkpoints', 'step_000006'));
	assert.equal(dirname(newest.folder), dirname(parent));
	const third = await prepareChild(parent, 3, { control: 'shuffle' });
	assert.equal(basename(third.parentCheckpoint), 'step_000003');
	assert.equal((third.recipe.stages[1] as { control?: unknown }).control, 'shuffle');
	await assert.rejects(prepareChild(parent, 5), { reason: 'missing', action: 'Available steps: 3, 6.' });
	await mkdir(join(parent, 'checkpoints', 'step_000009'));
	await assert.rejects(prepareChild(parent, 9), { reason: 'missing' });
	await assert.rejects(prepareChild(parent, 3, { set: [parseOverride('seed=x')] }), { reason: 'invalid' });
});
