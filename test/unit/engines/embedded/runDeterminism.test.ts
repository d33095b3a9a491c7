import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CheckpointState } from '../../../../src/protocol/checkpointState.ts';
import { listCheckpoints, readEvents, readMetrics } from '../../../../src/runs/runReader.ts';
import { eventually, shortRecipe, tinyRecipe, Workplace } from './engineProcess.ts';
import { checkKillResume, type KillReport, uninterrupted } from './killResume.ts';
import { runHere } from './runHere.ts';

/** Several updates per batch, a reference, resampling and masking: everything that a resume must restore. */
const fullRecipe = {
	...tinyRecipe,
	workers: 2,
	stages: [
		{
			type: 'sft',
			steps: 200,
			until: { heldOutAccuracy: 0.1, every: 10, problems: 8 },
			learning_rate: 1e-2,
			batch_size: 16,
		},
		{
			type: 'grpo',
			steps: 8,
			num_generations: 4,
			prompts_per_step: 4,
			steps_per_generation: 2,
			num_iterations: 2,
			beta: 0.02,
			epsilon_high: 0.28,
			loss_type: 'bnpo',
			mask_truncated_completions: true,
			dynamic_sampling: true,
			learning_rate: 1e-3,
			lr_scheduler_type: 'cosine',
			warmup_steps: 5,
		},
		{ type: 'grpo', steps: 2, num_generations: 4, prompts_per_step: 4, scale_rewards: 'batch', learning_rate: 1e-3 },
	],
};

test('the same seed reproduces a run, even after kills at random times, and a different seed does not', async (t) => {
	await using place = await Workplace.make();
	const whole = await uninterrupted(place, fullRecipe);
	const { outcome: first } = whole;
	assert.ok(first.metrics.length > 20);
	assert.equal(Object.keys(first.rollouts).length, 2 + 2);
	const { outcome: second } = await uninterrupted(place, fullRecipe, true);
	assert.deepEqual(second, first);
	const onKill = ({ kills }: KillReport) => t.diagnostic(`killed after ${kills.join(', ')} ms`);
	await checkKillResume(place, fullRecipe, { kills: 2, seed: 20, whole, onKill });
	const stages = [{ ...tinyRecipe.stages[0], steps: 1 }];
	const [one, other] = [
		await uninterrupted(place, { ...fullRecipe, stages }, true),
		await uninterrupted(place, { ...fullRecipe, stages, seed: 8 }, true),
	];
	assert.notEqual(other.outcome.weights, one.outcome.weights);
});

test('a resumed run keeps the device that "auto" selected, even if another one would be faster now', async () => {
	await using place = await Workplace.make();
	const run = await place.prepare({ ...tinyRecipe, device: 'auto', stages: [{ ...tinyRecipe.stages[0], steps: 2 }] });
	const first = await runHere(place, run);
	assert.equal(first.code, 0, first.stderr);
	const devices = async () => (await readEvents(run)).filter(({ type }) => type === 'device');
	const [{ took } = { took: null }] = await devices();
	assert.equal((await runHere(place, run, { resume: true })).code, 0);
	const again = (await devices()).at(-1);
	assert.deepEqual([again?.took, again?.tried, again?.asked], [took, [], 'auto']);
});

test('the initial accuracy of a new run remains its best after a resume', async () => {
	await using place = await Workplace.make();
	const stages = [{ ...tinyRecipe.stages[0], steps: 6 }, tinyRecipe.stages[1]];
	const parent = await place.prepare({ ...shortRecipe, stages: [stages[0], { ...stages[1], steps: 1 }] });
	assert.equal((await runHere(place, parent)).code, 0);
	const checkpoint = (await listCheckpoints(parent)).find(({ step }) => step === 6);
	assert.ok(checkpoint);
	const child = await place.prepare({ ...tinyRecipe, stages, evaluate: { every: 1000, problems: 8 } });
	const engine = place.start('--run', child, '--parent-checkpoint', checkpoint.path);
	await eventually(async () => (await readMetrics(child)).length >= 2, 'the child run has started');
	engine.kill('SIGKILL');
	await engine.exit;
	for (const { path, step } of await listCheckpoints(child)) if (step > 6) await rm(path, { recursive: true });
	// Pretend that the parent has no evaluation, so only the metrics line has the child's initial accuracy.
	const path = join(child, 'checkpoints', 'step_000006', 'state.json');
	const text = await readFile(path, 'utf8');
	const state = JSON.parse(text) as CheckpointState;
	assert.equal(state.evaluatedAt, null);
	const unmeasured = text.replace(/"best": \{[^}]*\}/, (best) => '"best": null'.padEnd(best.length));
	await writeFile(path, unmeasured);
	const resumed = await runHere(place, child, { resume: true });
	assert.equal(resumed.code, 0, resumed.stderr);
	const lines = await readMetrics(child);
	const measured = lines.filter(({ values }) => values['eval/heldout/accuracy'] !== undefined);
	const best = measured.reduce((a, b) =>
		(b.values['eval/heldout/accuracy'] ?? 0) > (a.values['eval/heldout/accuracy'] ?? 0) ? b : a,
	);
	const last = (await listCheckpoints(child)).at(-1);
	const end = JSON.parse(await readFile(join(last?.path ?? '', 'state.json'), 'utf8')) as CheckpointState;
	assert.deepEqual(end.best, { step: best.step, accuracy: best.values['eval/heldout/accuracy'] });
});
