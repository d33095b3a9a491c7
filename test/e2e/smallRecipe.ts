/** A run that is quick enough to be watched in a test: one-digit sums by a model of 60,000 parameters, on one core. */
export function smallRecipe(grpoSteps: number): object {
	return {
		format: 1,
		name: 'addition',
		seed: 1,
		dataset: { task: 'addition', digits: 1 },
		model: { layers: 2, width: 48, heads: 2 },
		template: 'r1',
		rewards: [{ use: 'accuracy' }, { use: 'format', weight: 0.2 }],
		stages: [
			{ type: 'sft', steps: 60, learning_rate: 3e-3, batch_size: 32 },
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

/** As the demo's, so that Start Demo Run takes this one in a workspace that has it. */
export const demoRecipe = 'addition.recipe.json';
