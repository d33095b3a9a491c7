import * as v from 'valibot';
import { count, described, flag, real } from './recipeFields.ts';
import { optimiser } from './stageFields.ts';

/** Proximal policy optimization with a critic; keys have the names of TRL's PPOConfig (0.20, the last that had it). */
export const ppoStageSchema = v.strictObject({
	type: described(v.literal('ppo'), 'Proximal policy optimization with a critic (Schulman et al. 2017).'),
	...optimiser,
	num_generations: v.optional(count('Completions per prompt (default 8).', 1, 1024)),
	prompts_per_step: v.optional(count('Prompts per generation batch (default 16).', 1, 65_536)),
	num_mini_batches: v.optional(
		count('Parts into which a generation batch is split, one update each (default 1).', 1, 1024),
	),
	num_ppo_epochs: v.optional(count('Passes over each generation batch (default 1; TRL 4).', 1, 64)),
	max_completion_length: v.optional(
		count('Longest completion in tokens (default: what the task needs; 64 for a file).', 1, 131_072),
	),
	temperature: v.optional(real('Sampling temperature; log-probabilities are taken at it too (default 1).', 0.01, 100)),
	kl_coef: v.optional(
		real("Weight of each token's KL to the reference in its reward (k1; default 0: no reference; TRL 0.05).", 0, 1000),
	),
	cliprange: v.optional(real('How far the ratio may leave 1 (default 0.2).', 0, 100)),
	vf_coef: v.optional(real('Weight of the value loss (default 0.1).', 0, 1000)),
	cliprange_value: v.optional(
		real('How far a value may leave the one of the batch before it is clipped (default 0.2).', 0, 1e6),
	),
	gamma: v.optional(real('Discount of later rewards, per token (default 1).', 0, 1)),
	lam: v.optional(real('Lambda of generalized advantage estimation (default 1; TRL 0.95).', 0, 1)),
	whiten_advantages: v.optional(
		flag('Give the advantages of a generation batch mean 0 and deviation 1 (default true).'),
	),
	critic_learning_rate: v.optional(real('Peak learning rate of the critic (default: learning_rate).', 0, 10)),
	critic_warmup_steps: v.optional(
		count('Updates at the beginning that train the critic alone (default 0).', 0, 10_000_000),
	),
});
