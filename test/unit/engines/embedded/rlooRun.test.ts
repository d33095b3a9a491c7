import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completionKl, leaveOneOutAdvantages } from '../../../../src/core/rloo/leaveOneOut.ts';
import { readMetrics, readRollouts } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { checkResume, uninterrupted } from './killResume.ts';
import { runHere } from './runHere.ts';

const close = (a: number | null | undefined, b: number, what: string, tolerance = 1e-4) =>
	assert.ok(typeof a === 'number' && Math.abs(a - b) < tolerance, `${what}: ${a} against ${b}`);

const numbers = (list: readonly (number | null)[] | undefined) => (list ?? []) as number[];

/** Dense reward: every completion earns some reward, whatever its content. */
const dense = {
	...tinyRecipe,
	dataset: { task: 'addition', digits: 1 },
	template: 'plain',
	rewards: [{ use: 'length-target', target: 3, range: 4 }],
	checkpoint: { every: 3, keep: 100 },
};

const full = {
	type: 'rloo',
	steps: 11,
	num_generations: 4,
	prompts_per_step: 4,
	steps_per_generation: 2,
	num_iterations: 2,
	max_completion_length: 10,
	beta: 0.05,
	epsilon_high: 0.28,
	mask_truncated_completions: true,
	learning_rate: 3e-3,
};

test('advantages, KL, loss and clipping match the formulas, and a resumed run ends as if uninterrupted', async () => {
	await using place = await Workplace.make();
	const stages = [{ ...full, steps: 3, beta: 0, steps_per_generation: 1, num_iterations: 1 }, full];
	const recipe = { ...dense, stages, workers: 2 };
	const whole = await uninterrupted(place, recipe, true);
	const { run } = whole;
	let kls = 0;
	for (const { step, values } of (await readMetrics(run)).filter((line) => line.step > 0)) {
		assert.ok(Number.isFinite(values.loss) && Number.isFinite(values.entropy), `step ${step}`);
		if (values.reward === undefined) continue;
		const beta = step > 3 ? full.beta : 0;
		const rows = await readRollouts(run, step);
		assert.equal(rows.length, 16);
		const kl = rows.map(({ tokens, truncated }) =>
			beta === 0 || truncated ? 0 : completionKl(numbers(tokens?.logprob), numbers(tokens?.refLogprob)),
		);
		kls += kl.reduce((sum, value) => sum + Math.abs(value), 0);
		const { values: expected } = leaveOneOutAdvantages(
			rows.map(({ reward }, i) => (reward as number) - beta * (kl[i] as number)),
			4,
		);
		for (const [i, row] of rows.entries()) close(row.advantage, expected[i] as number, `advantage ${step} ${i}`);
		if (beta === 0) {
			assert.equal('kl' in values, false);
			// Every ratio is 1, so the loss is minus the mean advantage, and advantages sum to 0 within each group.
			close(values.loss, 0, `loss ${step}`, 1e-6);
		} else {
			const counted = rows.filter(({ truncated }) => !truncated);
			const tokens = counted.reduce((sum, row) => sum + (row.tokens?.logprob.length ?? 0), 0);
			if (tokens > 0) close(values.kl, kl.reduce((a, b) => a + b, 0) / tokens, `kl ${step}`);
		}
		assert.ok((values['sampling/sampling_logp_difference/max'] ?? 0) < 1e-4);
	}
	assert.ok(kls > 1e-3, 'the policy has moved away from its reference');
	await checkResume(place, whole, 7);
});

test('the policy learns a dense reward', async () => {
	await using place = await Workplace.make();
	const stage = { type: 'rloo', steps: 50, num_generations: 8, prompts_per_step: 4, max_completion_length: 10 };
	const run = await place.prepare({
		...dense,
		checkpoint: { every: 1000 },
		evaluate: { every: 1000, problems: 2 },
		stages: [{ ...stage, learning_rate: 1e-2 }],
	});
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	const rewards = (await readMetrics(run)).flatMap(({ values }) => values.reward ?? []);
	const mean = (list: readonly number[]) => list.reduce((a, b) => a + b, 0) / list.length;
	const [before, after] = [mean(rewards.slice(0, 4)), mean(rewards.slice(-4))];
	assert.ok(after > before + 0.2, `${before} to ${after}`);
});
