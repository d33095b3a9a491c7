import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listCheckpoints, readMetrics, readRollouts } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { checkResume, uninterrupted } from './killResume.ts';
import { runHere } from './runHere.ts';
import { readOutcome } from './runOutcome.ts';

/** Dense reward: every completion earns some reward, whatever its content. */
const dense = {
	...tinyRecipe,
	template: 'plain',
	rewards: [{ use: 'length-target', target: 3, range: 4 }],
	checkpoint: { every: 3, keep: 100 },
};

const full = {
	type: 'ppo',
	steps: 14,
	num_generations: 2,
	prompts_per_step: 16,
	num_mini_batches: 2,
	num_ppo_epochs: 2,
	max_completion_length: 10,
	kl_coef: 0.05,
	gamma: 0.99,
	lam: 0.95,
	critic_warmup_steps: 4,
	learning_rate: 3e-3,
	critic_learning_rate: 1e-2,
};

test('the critic warms up, then critic and policy both learn; a resumed run ends as if uninterrupted', async () => {
	await using place = await Workplace.make();
	const recipe = { ...dense, workers: 2, stages: [full] };
	const whole = await uninterrupted(place, recipe, true);
	const { run } = whole;
	const lines = (await readMetrics(run)).filter(({ step }) => step > 0);
	assert.equal(lines.length, 14);
	for (const { step, values } of lines) {
		assert.ok(Number.isFinite(values.loss) && Number.isFinite(values['loss/value']), `step ${step}`);
		assert.equal(values['loss/policy'] === undefined, step <= 4, `step ${step}`);
		assert.equal('critic/explained_variance' in values, step % 4 === 1, `step ${step}`);
		if (step % 4 !== 1) continue;
		const rows = await readRollouts(run, step);
		assert.equal(rows.length, 32);
		const [tokens, kl] = rows.reduce(
			([count, sum], row) => {
				const [now, reference] = [row.tokens?.oldLogprob ?? [], row.tokens?.refLogprob ?? []];
				return [
					count + now.length,
					sum + now.reduce((s: number, x, t) => s + (x as number) - (reference[t] as number), 0),
				];
			},
			[0, 0] as [number, number],
		);
		assert.ok(Math.abs((values.kl as number) - kl / tokens) < 1e-5, `${values.kl} ${kl / tokens}`);
		const penalized = (values.reward as number) - (full.kl_coef * kl) / 32;
		assert.ok(Math.abs((values['objective/rlhf_reward'] as number) - penalized) < 1e-5);
	}
	// First policy update: every ratio is 1, and the batch advantages have mean 0.
	assert.equal(lines[4]?.values['clip_ratio/region_mean'], 0);
	assert.ok(lines.some(({ values }) => (values.policy_kl ?? 0) !== 0));
	// During critic warmup the policy equals the reference.
	assert.ok(Math.abs(lines[0]?.values.kl as number) < 1e-6 && Math.abs(lines[4]?.values.kl as number) < 1e-6);
	assert.equal((await listCheckpoints(run)).at(-1)?.step, 14);
	// Step 8 is after the warmup, when the policy differs from its reference.
	await checkResume(place, whole, 8);
});

test('the policy learns a dense reward and the critic learns to predict it, with any worker count', async () => {
	await using place = await Workplace.make();
	const stage = { type: 'ppo', num_generations: 2, prompts_per_step: 16, max_completion_length: 10 };
	const rates = { learning_rate: 1e-2, critic_learning_rate: 2e-2, num_ppo_epochs: 2, vf_coef: 0.5 };
	const recipe = { ...dense, checkpoint: { every: 1000 }, evaluate: { every: 1000, problems: 2 } };
	const run = await place.prepare({ ...recipe, stages: [{ ...stage, ...rates, steps: 60 }] });
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	const lines = (await readMetrics(run)).filter(({ values }) => values.reward != null);
	const mean = (list: readonly (number | null | undefined)[]) =>
		list.reduce((sum: number, x) => sum + (x as number), 0) / list.length;
	const rewards = lines.map(({ values }) => values.reward);
	const [before, after] = [mean(rewards.slice(0, 4)), mean(rewards.slice(-4))];
	assert.ok(after > before + 0.2, `${before} to ${after}`);
	const explained = lines.map(({ values }) => values['critic/explained_variance']);
	assert.ok(Math.max(...explained.map((x) => x ?? -1)) > 0.3, `${explained.join(', ')}`);
	const outcomes = [];
	for (const workers of [1, 2]) {
		const short = await place.prepare({ ...recipe, workers, stages: [{ ...stage, ...rates, steps: 3 }] });
		assert.equal((await runHere(place, short)).code, 0);
		const { weights, optimizer, heads } = await readOutcome(short);
		outcomes.push({ weights, optimizer, heads });
	}
	assert.deepEqual(outcomes[0], outcomes[1]);
});
