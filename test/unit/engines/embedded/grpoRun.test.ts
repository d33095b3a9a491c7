import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { computeAdvantages } from '../../../../src/core/grpo/advantages/groupAdvantages.ts';
import { decodeSafetensors } from '../../../../src/engines/embedded/run/safetensors.ts';
import type { RolloutLine } from '../../../../src/protocol/rolloutLine.ts';
import { listCheckpoints, readMetrics, readRollouts } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { runHere } from './runHere.ts';

const grpo = { type: 'grpo', steps: 4, num_generations: 4, prompts_per_step: 6, learning_rate: 1e-3 };
const place = await Workplace.make();
after(() => place[Symbol.asyncDispose]());
const seldom = { evaluate: { every: 1000, problems: 4 }, checkpoint: { every: 1000 } };
/** Starts from a policy that solves some problems. */
const recipe = { ...tinyRecipe, ...seldom, model: { path: await taughtPolicy() } };

async function taughtPolicy(): Promise<string> {
	const stages = [{ ...tinyRecipe.stages[0], steps: 150 }];
	const run = await place.prepare({ ...tinyRecipe, ...seldom, model: { ...tinyRecipe.model, context: 48 }, stages });
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	return (await listCheckpoints(run)).at(-1)?.path as string;
}

/** Reads the metrics of a run's updates. */
const updatesOf = async (run: string) => (await readMetrics(run)).filter(({ step }) => step > 0);

const lengthOf = (row: RolloutLine) => row.tokens?.logprob.length as number;

function weightedAdvantage(rows: readonly RolloutLine[]): number {
	const tokens = rows.reduce((sum, row) => sum + lengthOf(row), 0);
	return rows.reduce((sum, row) => sum + lengthOf(row) * (row.advantage as number), 0) / tokens;
}

const close = (a: number | null | undefined, b: number, what: string, tolerance = 1e-5) =>
	assert.ok(typeof a === 'number' && Math.abs(a - b) < tolerance, `${what}: ${a} against ${b}`);

test('rollouts, rewards, advantages and losses of a run are consistent for every loss type', async () => {
	const losses = ['grpo', 'bnpo', 'dapo', 'dr_grpo'] as const;
	const stages = losses.map((loss_type) => ({ ...grpo, loss_type, max_completion_length: 16 }));
	const run = await place.prepare({ ...recipe, stages });
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	const metrics = await updatesOf(run);
	assert.deepEqual(
		metrics.map(({ step }) => step),
		Array.from({ length: 16 }, (_, i) => i + 1),
	);
	let live = 0;
	for (const [s, loss] of losses.entries()) {
		for (const { step, values } of metrics.slice(4 * s, 4 * s + 4)) {
			const rows = await readRollouts(run, step);
			assert.equal(rows.length, 24);
			for (const [i, row] of rows.entries()) {
				assert.equal(row.step, step);
				assert.deepEqual([row.group, row.index], [Math.floor(i / 4), i % 4]);
				assert.equal(row.prompt, rows[row.group * 4]?.prompt);
				close(row.reward, (row.rewards.accuracy as number) + 0.2 * (row.rewards.format as number), 'reward');
			}
			const { values: advantages, dead } = computeAdvantages(
				rows.map((row) => row.reward),
				4,
				'group',
			);
			assert.deepEqual(
				rows.map((row) => row.advantage),
				[...advantages],
			);
			close(values.frac_reward_zero_std, dead.filter((d) => d).length / 6, 'dead');
			close(values.reward, rows.reduce((sum, row) => sum + (row.reward as number), 0) / 24, 'mean reward');
			const tokens = rows.reduce((sum, row) => sum + lengthOf(row), 0);
			close(values['completions/mean_length'], tokens / 24, 'length');
			// On the first update the ratio is 1, so the loss depends only on the advantages and the normalization.
			const expected = {
				grpo: 0,
				bnpo: -weightedAdvantage(rows),
				dapo: -weightedAdvantage(rows),
				dr_grpo: (-weightedAdvantage(rows) * tokens) / (24 * 16),
			}[loss];
			close(values.loss, expected, `${loss} at ${step}`);
			assert.equal(values['clip_ratio/region_mean'], 0);
			assert.equal('kl' in values, false);
			if (!dead.every((d) => d)) {
				live++;
				assert.ok((values.grad_norm as number) > 0);
				assert.ok((values['sampling/sampling_logp_difference/max'] as number) < 1e-4);
			}
		}
	}
	assert.ok(live > 4, 'rewards differ within groups');
});

test('several updates per batch cause clipping, a reference adds KL, and only the first line of a batch has rollout metrics', async () => {
	const stage = { ...grpo, steps: 11, num_iterations: 2, steps_per_generation: 3, beta: 0.05, learning_rate: 5e-3 };
	const run = await place.prepare({ ...recipe, stages: [stage], checkpoint: { every: 5, keep: 100 } });
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	const lines = await updatesOf(run);
	assert.equal(lines.length, 11);
	const isFirst = (step: number) => (step - 1) % 6 === 0;
	for (const { step, values } of lines) {
		assert.equal('reward' in values, isFirst(step), `step ${step}`);
		assert.equal((await readRollouts(run, step)).length, isFirst(step) ? 24 : 0);
		assert.ok((values.kl as number) >= 0);
		if (step === 1) close(values.kl, 0, 'KL while policy and reference are the same', 1e-6);
	}
	assert.ok(lines.some(({ values }) => (values['clip_ratio/region_mean'] as number) > 0));
	assert.ok((lines.at(-1)?.values.kl as number) > 1e-5);
	// A checkpoint is due at step 5, but checkpoints are only written between batches. A batch has 6 updates, and the
	// end of the stage truncates the second one.
	const steps = (await listCheckpoints(run)).map(({ step }) => step).filter((step) => step > 0);
	assert.deepEqual(steps, [6, 11]);
	const row = (await readRollouts(run, 1))[0];
	assert.equal(row?.tokens?.refLogprob?.length, row?.tokens?.logprob.length);
});

async function lastWeights(run: string): Promise<Float32Array> {
	const last = (await listCheckpoints(run)).at(-1)?.path as string;
	const tensors = decodeSafetensors(await readFile(join(last, 'model.safetensors')), 'model');
	return Float32Array.from([...tensors.values()].flatMap(({ data }) => [...data]));
}

test('skipping groups without advantage changes neither weights nor metrics', async () => {
	const of = async (skip_dead_groups: boolean) => {
		const run = await place.prepare({ ...recipe, stages: [{ ...grpo, skip_dead_groups }] });
		assert.equal((await runHere(place, run)).code, 0);
		return run;
	};
	const [skipping, complete] = [await of(true), await of(false)];
	const [a, b] = [await updatesOf(skipping), await updatesOf(complete)];
	assert.ok(a.some(({ values }) => (values.frac_reward_zero_std as number) > 0));
	for (const [i, { step, values }] of a.entries()) {
		for (const name of ['loss', 'reward', 'entropy', 'num_tokens', 'clip_ratio/region_mean', 'frac_reward_zero_std']) {
			if (values[name] != null) close(values[name], b[i]?.values[name] as number, `${name} at ${step}`, 1e-3);
		}
	}
	const [w, v] = [await lastWeights(skipping), await lastWeights(complete)];
	const difference = w.reduce((max, value, i) => Math.max(max, Math.abs(value - (v[i] as number))), 0);
	// Only the summation order differs.
	assert.ok(difference < 1e-3, String(difference));
});

test('shuffled advantages are a permutation within the batch; dynamic sampling fills the batch with informative groups', async () => {
	const stages = [
		{ ...grpo, control: 'shuffle' },
		{ ...grpo, steps: 5, dynamic_sampling: true, max_resamples: 20, learning_rate: 1e-6 },
	];
	const run = await place.prepare({ ...recipe, stages });
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	let moved = 0;
	for (let step = 1; step <= 4; step++) {
		const rows = await readRollouts(run, step);
		const { values } = computeAdvantages(
			rows.map((row) => row.reward),
			4,
			'group',
		);
		const recorded = rows.map((row) => row.advantage as number);
		assert.deepEqual([...recorded].sort(), [...values].sort());
		if (recorded.some((value, i) => value !== values[i])) moved++;
	}
	assert.ok(moved > 0);
	const lines = (await updatesOf(run)).slice(4);
	const dead = lines.map(({ values }) => values.frac_reward_zero_std as number);
	assert.ok(dead.filter((share) => share === 0).length >= 4, dead.join());
});

test('the sft stage learns, ends when its metric reaches the target, and records each evaluation', async () => {
	const sft = { ...tinyRecipe.stages[0], steps: 2000, until: { heldOutAccuracy: 0.25, every: 20, problems: 8 } };
	const run = await place.prepare({ ...tinyRecipe, checkpoint: seldom.checkpoint, stages: [sft] });
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	const lines = await readMetrics(run);
	const last = lines.at(-1);
	assert.ok(last && last.step < 2000 && last.step % 20 === 0);
	const measured = lines.filter(({ values }) => values['eval/heldout/accuracy'] !== undefined);
	assert.deepEqual(
		measured.map(({ step }) => step),
		Array.from({ length: last.step / 20 }, (_, i) => 20 * (i + 1)),
	);
	for (const { step, values } of measured) {
		assert.equal((values['eval/heldout/accuracy'] as number) >= 0.25, step === last.step);
		const low = values['eval/heldout/accuracy_low'] as number;
		assert.ok(low <= (values['eval/heldout/accuracy'] as number));
	}
	const samples = await readFile(
		join(run, 'evaluations', `step_${String(last.step).padStart(6, '0')}`, 'heldout.jsonl'),
		'utf8',
	);
	const right = samples
		.trim()
		.split('\n')
		.filter((line) => (JSON.parse(line) as { correct: boolean }).correct).length;
	assert.equal(right / samples.trim().split('\n').length, last.values['eval/heldout/accuracy']);
	assert.match(await readFile(join(run, 'events.jsonl'), 'utf8'), /"stage-ended","name":"sft","because":"until"/);
	assert.ok((lines[0]?.values.loss as number) > 2 && (last.values.loss as number) < 1);
});
