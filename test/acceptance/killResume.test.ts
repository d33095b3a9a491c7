/** Checks that a run killed at random moments and resumed ends like an uninterrupted run. */
import { test } from 'node:test';
import { tinyRecipe, Workplace } from '../unit/engines/embedded/engineProcess.ts';
import { checkKillResume } from '../unit/engines/embedded/killResume.ts';

/** About ten seconds long, so that random moments hit both stages, evaluations and checkpoints. */
const recipe = {
	...tinyRecipe,
	model: { layers: 2, width: 48, heads: 2 },
	stages: [
		{ type: 'sft', steps: 150, learning_rate: 3e-3, batch_size: 32 },
		{ type: 'grpo', steps: 120, num_generations: 8, prompts_per_step: 8, learning_rate: 1e-3 },
	],
	checkpoint: { every: 15, keep: 2 },
};

test('twenty kills at random moments do not change metrics, rollouts, evaluations or weights', async () => {
	await using place = await Workplace.make();
	await checkKillResume(place, recipe, {
		moments: 20,
		kills: 2,
		seed: 20,
		onKill: ({ kills }) => console.error(`killed after ${kills.join(' and ')} ms`),
	});
});
