import type { Laboratory } from './laboratory.ts';

/** Returns a recipe short enough to watch in a test: one-digit sums with a 60,000-parameter model on one core. */
export function smallRecipe(grpoSteps: number, sftSteps = 60) {
	return {
		format: 1,
		name: 'addition',
		seed: 1,
		dataset: { task: 'addition', digits: 1 },
		model: { layers: 2, width: 48, heads: 2 },
		template: 'r1',
		rewards: [{ use: 'accuracy' }, { use: 'format', weight: 0.2 }],
		stages: [
			{ type: 'sft', steps: sftSteps, learning_rate: 3e-3, batch_size: 32 },
			{
				type: 'grpo',
				steps: grpoSteps,
				num_generations: 8,
				prompts_per_step: 8,
				max_completion_length: 32,
				learning_rate: 1e-3,
			},
		],
		evaluate: { every: 50, problems: 16 },
		checkpoint: { every: 20, keep: 3 },
		workers: 1,
	};
}

/**
 * Returns the recipe with a reward that takes a tenth of a second per batch. For runs that are only watched: at full
 * speed, the engine and everything that shows the run would keep the machine busy for as long as the test takes.
 */
export function unhurried<T extends { readonly rewards: readonly object[] }>(lab: Laboratory, recipe: T) {
	lab.write('slow.reward.ts', slowReward);
	return { ...recipe, rewards: [...recipe.rewards, { file: 'slow.reward.ts', name: 'slow', weight: 0 }] };
}

/** Scores a batch, of any size, in a tenth of a second. */
export const slowReward = `export const slow = async (rows: readonly unknown[]) => {
	await new Promise((resolve) => setTimeout(resolve, 100));
	return rows.map(() => 0);
};
slow.batch = true;
`;

/** Same name as the demo's recipe, so that Start Demo Run uses this one if the workspace contains it. */
export const demoRecipe = 'addition.recipe.json';

/** Returns a GRPO recipe of the smallest size whose run lasts until it is stopped. */
export const pytorchRecipe = (name: string, steps: number, more: object) => ({
	format: 1,
	name,
	seed: 1,
	dataset: { task: 'addition', digits: 1 },
	model: { layers: 1, width: 32, heads: 2 },
	rewards: [{ use: 'format' }],
	stages: [
		{ type: 'grpo', steps, num_generations: 4, prompts_per_step: 2, max_completion_length: 12, learning_rate: 1e-3 },
	],
	evaluate: { every: 1000, problems: 4 },
	checkpoint: { every: 1000, keep: 2 },
	...more,
});
