import * as v from 'valibot';
import { count, described, flag, real } from './recipeFields.ts';
import { optimiser, pairsSchema, updates } from './stageFields.ts';

/** Further stages: of policies that are there. */

export const rlooStageSchema = v.strictObject({
	type: described(v.literal('rloo'), 'REINFORCE with a leave-one-out baseline (Ahmadian et al. 2024).'),
	...optimiser,
	num_generations: v.optional(count('Completions per prompt (default 8).', 2, 1024)),
	prompts_per_step: v.optional(count('Prompts per generation batch (default 16).', 1, 65_536)),
	steps_per_generation: v.optional(
		count('Parts into which a generation batch is split, one update each (default 1).', 1, 1024),
	),
	num_iterations: v.optional(count('Passes over each generation batch (default 1).', 1, 64)),
	max_completion_length: v.optional(
		count('Longest completion in tokens (default: what the task needs; 64 for a file).', 1, 131_072),
	),
	temperature: v.optional(real('Sampling temperature (default 1).', 0.01, 100)),
	beta: v.optional(real('Weight of the KL term in the reward (default 0).', 0, 1000)),
	epsilon: v.optional(real('Lower clip range of the ratio (default 0.2).', 0, 1)),
	epsilon_high: v.optional(real('Upper clip range of the ratio (default: epsilon).', 0, 100)),
	mask_truncated_completions: v.optional(flag('Leave truncated completions out of the loss (default false).')),
});

export const dpoStageSchema = v.strictObject({
	type: described(v.literal('dpo'), 'Direct preference optimization on pairs (Rafailov et al. 2023).'),
	...updates,
	pairs: pairsSchema,
	batch_size: v.optional(count('Pairs per update (default 64).', 1, 65_536)),
	beta: v.optional(real('How far the policy may leave its reference: larger is nearer (default 0.1).', 0, 1000)),
});

export const rewardModelStageSchema = v.strictObject({
	type: described(v.literal('reward-model'), 'A reward model from pairs (Bradley-Terry).'),
	...updates,
	pairs: pairsSchema,
	batch_size: v.optional(count('Pairs per update (default 64).', 1, 65_536)),
});
