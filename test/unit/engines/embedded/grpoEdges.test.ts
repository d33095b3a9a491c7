import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectRun } from '../../../../src/runs/runControl.ts';
import { readMetrics, readRecord, readRollouts } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { runHere } from './runHere.ts';
import { readOutcome } from './runOutcome.ts';
import { StepLimit } from './stepLimit.ts';

const grpo = { type: 'grpo', num_generations: 4, prompts_per_step: 6, learning_rate: 1e-3 };

test('updates happen and are reported even with fewer rows than a batch, no correct answers and only truncated completions', async () => {
	await using place = await Workplace.make();
	const lines = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
	// No two-token completion can contain the answer.
	const rows = ['1=', '22=', '333333='].map((prompt) => ({ prompt, answer: '98765' }));
	await writeFile(join(place.folder, 'train.jsonl'), lines(rows));
	await writeFile(join(place.folder, 'test.jsonl'), lines([{ prompt: '4=', answer: '4' }]));
	const cut = { ...grpo, max_completion_length: 2, mask_truncated_completions: true, steps: 4 };
	const stages = [
		{ ...cut, num_iterations: 2, steps_per_generation: 2 },
		{ ...cut, dynamic_sampling: true, max_resamples: 2 },
		{ ...cut, num_iterations: 2, steps_per_generation: 2, beta: 0.05, loss_type: 'grpo' },
		{ ...cut, beta: 0.05, loss_type: 'bnpo', skip_dead_groups: false },
	];
	const dataset = { path: 'train.jsonl', heldOut: 'test.jsonl' };
	const run = await place.prepare({ ...tinyRecipe, dataset, rewards: [{ use: 'accuracy' }], stages });
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	const metrics = (await readMetrics(run)).filter(({ step }) => step > 0);
	assert.equal(metrics.length, 16);
	for (const { step, values } of metrics) {
		assert.equal(typeof values.loss, 'number', `loss at ${step}`);
		assert.equal(typeof values.grad_norm, 'number', `gradient at ${step}`);
		if (step <= 8) assert.deepEqual([values.loss, values.grad_norm], [0, 0], `step ${step}`);
		assert.equal(values.frac_reward_zero_std ?? 1, 1);
	}
	const first = await readRollouts(run, 1);
	assert.equal(first.length, 24);
	assert.equal(new Set(first.map(({ prompt }) => prompt)).size, 3);
});

test('a KL term enabled mid-run uses the same reference after a resume, and an entropy bonus the same weight', async () => {
	await using place = await Workplace.make();
	const limit = await StepLimit.write(place.folder);
	const stages = [
		{ ...tinyRecipe.stages[0], steps: 6 },
		// The entropy is always below the target, so the weight of the bonus rises with every update.
		{ ...grpo, steps: 20, prompts_per_step: 4, num_iterations: 2, use_adaptive_entropy: true, entropy_target: 100 },
	];
	const rewards = [{ use: 'accuracy' }, limit.reward];
	const more = { rewards, scoring: StepLimit.scoring, checkpoint: { every: 8, keep: 100 } };
	const run = await place.prepare({ ...tinyRecipe, stages, ...more });
	await limit.allow(10);
	const engine = place.start('--run', run);
	await limit.reached(10);
	const client = await connectRun(run, await readRecord(run), 'test');
	const pausing = client.request('run/pause', {});
	// Once this is answered, the engine has received the pause, which takes effect after the batch.
	await client.request('run/status', {});
	await limit.allow(12);
	assert.equal((await pausing).step, 12);
	const { fromStep } = await client.request('run/setHyperparameters', { beta: 0.1 });
	assert.equal(fromStep, 13);
	await limit.allow(18);
	await client.request('run/continue', {});
	await limit.reached(18);
	client.dispose();
	engine.kill('SIGKILL');
	await engine.exit;
	await limit.allow(Number.POSITIVE_INFINITY);
	assert.equal((await runHere(place, run, { resume: true })).code, 0);
	const expected = await readOutcome(run);
	for (const { step, values } of (await readMetrics(run)).filter((line) => line.stage === 'grpo')) {
		assert.equal('kl' in values, step >= fromStep, `step ${step} of ${fromStep}`);
		assert.ok(
			Math.abs((values.entropy_coef as number) - 0.005 * (step - 6)) < 1e-9,
			`step ${step}: ${values.entropy_coef}`,
		);
	}
	await rm(join(run, 'checkpoints'), { recursive: true });
	assert.equal((await runHere(place, run, { resume: true })).code, 0);
	const again = await readOutcome(run);
	assert.deepEqual(again.metrics, expected.metrics);
	assert.equal(again.weights, expected.weights);
});
