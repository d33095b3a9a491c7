import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ResolvedGrpoStage } from '../../src/core/recipe/resolvedRecipe.ts';
import { renderPrompt } from '../../src/core/text/template.ts';
import { openDataset } from '../../src/runs/openDataset.ts';
import { prepareRun } from '../../src/runs/prepareRun.ts';
import type { PlainOptions } from './plainRun.ts';

let written = 0;

/**
 * Converts a recipe with a single `grpo` stage to plain TRL: the same problems in the same order, and the same
 * settings.
 */
export async function plainOf(folder: string, recipe: object): Promise<Pick<PlainOptions, 'problems' | 'config'>> {
	const path = join(folder, `plain-${++written}.recipe.json`);
	await writeFile(path, JSON.stringify({ format: 1, name: 'plain', ...recipe, engine: 'pytorch' }));
	const { recipe: resolved } = await prepareRun(path);
	const stage = resolved.stages[0] as ResolvedGrpoStage;
	const { source } = await openDataset(resolved.dataset);
	const batches = Math.ceil(stage.steps / (stage.steps_per_generation * stage.num_iterations));
	const problems = Array.from({ length: batches * stage.prompts_per_step }, (_, i) => {
		const { prompt, answer } = source.training(resolved.seed, i);
		return { prompt: renderPrompt(resolved.template, prompt), answer };
	});
	const perUpdate = (stage.prompts_per_step * stage.num_generations) / stage.steps_per_generation;
	const micro = resolved.pytorch?.microBatch ?? perUpdate;
	const accumulated = perUpdate / micro;
	const config = {
		max_steps: stage.steps,
		seed: resolved.seed,
		learning_rate: stage.learning_rate,
		lr_scheduler_type: stage.lr_scheduler_type,
		warmup_steps: stage.warmup_steps,
		max_grad_norm: stage.max_grad_norm,
		weight_decay: stage.weight_decay,
		adam_beta1: stage.adam_beta1,
		adam_beta2: stage.adam_beta2,
		adam_epsilon: stage.adam_epsilon,
		per_device_train_batch_size: micro,
		gradient_accumulation_steps: accumulated,
		steps_per_generation: stage.steps_per_generation * accumulated,
		num_generations: stage.num_generations,
		num_iterations: stage.num_iterations,
		max_completion_length: stage.max_completion_length,
		temperature: stage.temperature,
		beta: stage.beta,
		epsilon: stage.epsilon,
		epsilon_high: stage.epsilon_high,
		loss_type: stage.loss_type,
		scale_rewards: stage.scale_rewards,
		mask_truncated_completions: stage.mask_truncated_completions,
		reward_weights: resolved.rewards.map(({ weight }) => weight ?? 1),
		bf16: resolved.pytorch?.precision === 'bfloat16',
	};
	return { problems, config };
}
