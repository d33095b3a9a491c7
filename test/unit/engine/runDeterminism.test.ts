import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { checkKillResume, uninterrupted } from './killResume.ts';

/** Several updates a batch, a reference, resampling and masks: everything that a resume has to bring back. */
const fullRecipe = {
	...tinyRecipe,
	workers: 2,
	stages: [
		{
			type: 'sft',
			steps: 200,
			until: { heldOutAccuracy: 0.2, every: 10, problems: 8 },
			learning_rate: 1e-2,
			batch_size: 16,
		},
		{
			type: 'grpo',
			steps: 60,
			num_generations: 4,
			prompts_per_step: 8,
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
		{ type: 'grpo', steps: 20, num_generations: 4, prompts_per_step: 8, scale_rewards: 'batch', learning_rate: 1e-3 },
	],
};

test('the same seed gives the same metrics, rollouts and weights, and another seed others', async () => {
	await using place = await Workplace.make();
	const { outcome: first } = await uninterrupted(place, fullRecipe);
	const { outcome: second } = await uninterrupted(place, fullRecipe);
	assert.deepEqual(second, first);
	assert.ok(first.metrics.length > 80);
	assert.ok(Object.keys(first.rollouts).length >= 35);
	const { outcome: other } = await uninterrupted(place, { ...fullRecipe, seed: 8 });
	assert.notEqual(other.weights, first.weights);
});

test('a run that is killed at any moment and resumed ends as if it had not been', async (t) => {
	await using place = await Workplace.make();
	await checkKillResume(place, fullRecipe, 3, 20, ({ kills }) => t.diagnostic(`killed after ${kills.join(', ')} ms`));
});
