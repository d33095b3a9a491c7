import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { listCheckpoints, readMetrics, readRecord } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { checkResume, uninterrupted } from './killResume.ts';
import { runHere } from './runHere.ts';

const hashOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');

/** For every problem, the short answer is preferred over the long one. */
const lines = Array.from({ length: 100 }, (_, i) => {
	const [a, b] = [i % 10, Math.floor(i / 10)];
	return { prompt: `${a}+${b}=`, chosen: `${a}`, rejected: `${b}${a}${b}` };
});

async function recipeOf(place: Workplace, steps: number, more: object = {}) {
	const path = join(place.folder, 'pairs.jsonl');
	await writeFile(path, lines.map((line) => JSON.stringify(line)).join('\n'));
	const stage = { type: 'dpo', steps, learning_rate: 3e-3, batch_size: 16, beta: 0.2 };
	return {
		...tinyRecipe,
		template: 'plain',
		rewards: [{ use: 'accuracy' }],
		workers: 2,
		model: { ...tinyRecipe.model, context: 40 },
		evaluate: { every: 5, problems: 8 },
		checkpoint: { every: 3, keep: 100 },
		stages: [{ ...stage, pairs: { path, heldOutShare: 0.2 }, ...more }],
	};
}

test('the policy learns the preferences, including held-out pairs, against its initial weights as the reference', async () => {
	await using place = await Workplace.make();
	const recipe = await recipeOf(place, 20);
	const whole = await uninterrupted(place, recipe, true);
	const { run } = whole;
	const metrics = (await readMetrics(run)).filter(({ step }) => step > 0);
	const [first] = metrics;
	assert.ok(first && Math.abs((first.values.loss as number) - Math.LN2) < 1e-5, `${first?.values.loss}`);
	assert.ok(Math.abs(first.values['rewards/margins'] as number) < 1e-4);
	const held = metrics.flatMap(({ values }) => values['eval/rewards/accuracies'] ?? []);
	assert.equal(held.length, 4);
	const last = metrics.at(-1)?.values;
	assert.ok((held.at(-1) as number) >= 0.95, `${held.join(', ')}`);
	assert.ok((last?.['eval/rewards/margins'] as number) > 0.5);
	assert.ok((last?.['eval/loss'] as number) < 0.6);
	assert.ok(Number.isFinite(last?.['eval/heldout/accuracy']), 'held-out accuracy is still measured');
	const margin = (last?.['rewards/chosen'] as number) - (last?.['rewards/rejected'] as number);
	assert.ok(Math.abs(margin - (last?.['rewards/margins'] as number)) < 1e-9);
	const checkpoints = await listCheckpoints(run);
	const references = await Promise.all(
		checkpoints.map(({ path }) => readFile(join(path, 'reference.safetensors')).then(hashOf)),
	);
	assert.equal(new Set(references).size, 1);
	// A run resumed during DPO ends as if uninterrupted.
	await checkResume(place, whole, 9);
});

test('nothing is learned if half of the pairs are swapped', async () => {
	await using place = await Workplace.make();
	const run = await place.prepare(await recipeOf(place, 20, { control: 'shuffle' }));
	assert.equal((await runHere(place, run)).code, 0);
	const metrics = (await readMetrics(run)).filter(({ step }) => step > 0);
	const held = metrics.flatMap(({ values }) => values['eval/rewards/margins'] ?? []);
	assert.equal(held.length, 4);
	// In the same number of updates on the true pairs, it exceeds 0.5.
	assert.ok(Math.max(...held.map((margin) => Math.abs(margin as number))) < 0.2, `${held.join(', ')}`);
	assert.ok(
		held.every((margin) => margin !== 0),
		'the policy has changed',
	);
});

test('weights do not depend on the worker count', async () => {
	await using place = await Workplace.make();
	// 16 rows for each of two workers, so the micro-batches, which the recipe freezes, are identical.
	const weights = [];
	for (const workers of [1, 2]) {
		const run = await place.prepare({ ...(await recipeOf(place, 3)), workers });
		assert.equal((await runHere(place, run)).code, 0);
		const last = (await listCheckpoints(run)).at(-1);
		weights.push(hashOf(await readFile(join(last?.path as string, 'model.safetensors'))));
	}
	assert.equal(weights[0], weights[1]);
});

test('a file without pairs is rejected before training starts, and a changed file is rejected on resume', async () => {
	await using place = await Workplace.make();
	const recipe = await recipeOf(place, 1);
	const run = await place.prepare(recipe);
	assert.equal((await runHere(place, run)).code, 0);
	await writeFile(join(place.folder, 'pairs.jsonl'), '{"prompt": "1+1=", "chosen": "2"}\n');
	const refused = await place.prepare(recipe);
	assert.equal((await runHere(place, refused)).code, 2);
	assert.match((await readRecord(refused)).error?.message ?? '', /pairs\.jsonl, line 1: has no column "rejected"/);
	await writeFile(join(place.folder, 'pairs.jsonl'), JSON.stringify({ ...lines[0], chosen: '77' }));
	assert.match((await runHere(place, run, { resume: true })).stderr, /dataset/);
});
