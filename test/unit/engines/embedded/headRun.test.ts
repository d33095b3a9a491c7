import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Failure } from '../../../../src/base/failure.ts';
import { connectServed } from '../../../../src/runs/runControl.ts';
import { listCheckpoints, readEvaluations, readMetrics, readRecord } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { checkResume, uninterrupted } from './killResume.ts';
import { runHere } from './runHere.ts';

const head = {
	learning_rate: 3e-3,
	prompts_per_step: 4,
	num_generations: 2,
	max_completion_length: 20,
};

/** A recipe that trains both heads, with batches split in every possible way. */
const recipe = {
	...tinyRecipe,
	workers: 2,
	model: { ...tinyRecipe.model, context: 48 },
	stages: [
		{ type: 'sft', steps: 10, learning_rate: 1e-2, batch_size: 16 },
		{ type: 'value-model', steps: 14, steps_per_generation: 2, num_iterations: 2, ...head },
		{ type: 'process-reward-model', steps: 9, split: { text: ';' }, completions: 2, active: { steps: 3 }, ...head },
	],
	evaluate: { every: 5, problems: 8 },
	checkpoint: { every: 4, keep: 100 },
};

test('a sampling stage can follow a head stage, and its starting accuracy is evaluated once', async () => {
	await using place = await Workplace.make();
	const grpo = { type: 'grpo', steps: 1, learning_rate: 1e-3, num_generations: 2, prompts_per_step: 2 };
	const small = { type: 'value-model', steps: 1, ...head };
	const run = await place.prepare({ ...recipe, workers: 1, stages: [small, grpo] });
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	const lines = await readMetrics(run);
	assert.deepEqual(
		lines.map(({ step, stage }) => `${step} ${stage}`),
		['1 value-model', '2 grpo'],
	);
	const measured = await readEvaluations(run);
	assert.deepEqual(
		measured.map(({ name, step }) => `${name} ${step}`),
		['heldout 1', 'heldout 2'],
	);
});

test('heads are trained, evaluated, saved and served without changing the policy, including after a resume', async () => {
	await using place = await Workplace.make();
	const whole = await uninterrupted(place, recipe, true);
	// One step in each head's stage.
	await checkResume(place, whole, 18, 28);
	const { run } = whole;
	const lines = await readMetrics(run);
	assert.equal(lines.length, 33);
	for (const { step, values } of lines.filter(({ stage }) => stage !== 'sft')) {
		assert.ok(Number.isFinite(values.loss) && Number.isFinite(values['head/brier']), `step ${step}`);
		assert.equal(values['eval/heldout/accuracy'], undefined);
	}
	// Evaluations are due at every fifth step, postponed to the end of its batch, and at the end of each stage.
	const measured = lines.filter(({ values }) => values['eval/head/brier'] !== undefined).map(({ step }) => step);
	assert.deepEqual(measured, [18, 22, 24, 25, 30, 33]);

	const checkpoints = await listCheckpoints(run);
	const at = (step: number, name: string) =>
		readFile(join(checkpoints.find((one) => one.step === step)?.path ?? '', name)).catch(() => null);
	assert.ok(await at(10, 'model.safetensors'));
	assert.deepEqual(await at(33, 'model.safetensors'), await at(10, 'model.safetensors'));
	assert.equal(await at(10, 'value.safetensors'), null);
	assert.ok(await at(18, 'head_optimizer.safetensors'));
	assert.equal(await at(33, 'head_optimizer.safetensors'), null);
	assert.deepEqual(await at(33, 'value.safetensors'), await at(24, 'value.safetensors'));

	const folder = checkpoints.at(-1)?.path as string;
	const server = place.start('--serve', folder);
	await server.firstLine;
	const client = await connectServed(folder, 'test');
	try {
		assert.ok(client.engine.capabilities.includes('policy/value'));
		assert.ok(client.engine.capabilities.includes('head.value'));
		assert.ok(client.engine.capabilities.includes('head.process'));
		const pairs = { prompts: ['1+2=', '1+2='], completions: ['', '<think>1+2=3'] };
		for (const name of ['value', 'process'] as const) {
			const { values, tokens } = await client.request('policy/value', { ...pairs, head: name, tokens: true });
			assert.equal(values.length, 2);
			assert.ok(values.every((value) => value > 0 && value < 1));
			assert.deepEqual(
				tokens?.map((list) => list.length),
				[1, 7],
			);
			// Heads are causal: later tokens do not change earlier values.
			assert.ok(Math.abs((tokens?.[1]?.[0] as number) - (values[0] as number)) < 1e-5);
			assert.equal(tokens?.[1]?.at(-1), values[1]);
		}
	} finally {
		client.dispose();
		server.kill('SIGTERM');
		await server.exit;
	}

	const before = checkpoints.find(({ step }) => step === 24)?.path as string;
	const other = place.start('--serve', before);
	await other.firstLine;
	const without = await connectServed(before, 'test');
	try {
		assert.ok(!without.engine.capabilities.includes('head.process'));
		const asked = without.request('policy/value', { prompts: ['1+2='], completions: [''], head: 'process' });
		await assert.rejects(asked, (error: Failure) => {
			assert.equal(error.reason, 'unsupported');
			assert.match(error.toString(), /process-reward-model/);
			return true;
		});
	} finally {
		without.dispose();
		other.kill('SIGTERM');
		await other.exit;
	}
});

test('a head for an existing policy learns from a file of labeled steps', async () => {
	await using place = await Workplace.make();
	const parent = await place.prepare({ ...recipe, stages: recipe.stages.slice(0, 1) });
	assert.equal((await runHere(place, parent)).code, 0);
	const checkpoint = (await listCheckpoints(parent)).at(-1);
	// A step is correct if its sum is; one digit decides this.
	const lines = Array.from({ length: 100 }, (_, i) => {
		const [a, b] = [i % 10, Math.floor(i / 10)];
		const stated = i % 3 === 0 ? (a + b + 1) % 10 : (a + b) % 10;
		return { prompt: `${a}+${b}=`, completions: [`${stated}`], labels: [stated === (a + b) % 10] };
	});
	const labels = join(place.folder, 'labels.jsonl');
	await writeFile(labels, lines.map((line) => JSON.stringify(line)).join('\n'));
	const stage = {
		type: 'process-reward-model',
		steps: 12,
		learning_rate: 3e-3,
		labels: { path: labels, heldOutShare: 0.2 },
	};
	const own = { ...recipe, model: { path: checkpoint?.path }, stages: [{ ...stage, batch_size: 16 }] };
	const whole = await uninterrupted(place, own, true);
	await checkResume(place, whole, 8);
	const { run } = whole;
	const last = (await readMetrics(run)).at(-1)?.values;
	assert.ok(Number.isFinite(last?.['eval/head/loss']));

	await writeFile(
		labels,
		`${JSON.stringify(lines[0])}\n{"prompt": "1+1=", "completions": ["2"], "labels": [true, false]}\n`,
	);
	const refused = await place.prepare(own);
	assert.equal((await runHere(place, refused)).code, 2);
	assert.match((await readRecord(refused)).error?.message ?? '', /labels\.jsonl, line 2: 2 labels for 1 steps/);
	const resumed = await runHere(place, run, { resume: true });
	assert.equal(resumed.code, 2);
	assert.match(resumed.stderr, /line 2|dataset/);
});
