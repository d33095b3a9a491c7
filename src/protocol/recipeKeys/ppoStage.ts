import { count, flag, real } from './recipeFields.ts';
import { key, stageOf } from './recipeKey.ts';
import { batches, generations, optimizer, scoredSampling } from './stageFields.ts';

/**
 * Proximal policy optimization with a critic. Keys are named as in TRL's PPOConfig (0.20, the last version to include
 * it). Defaults are from Open-Reasoner-Zero (Hu et al. 2025): no discount, no KL, full returns as advantages.
 */
export const ppoStageSchema = stageOf(
	'ppo',
	'Proximal policy optimization with a critic (Schulman et al. 2017).',
	{
		...optimizer,
		num_generations: generations('Completions per prompt.', 1, 8),
		prompts_per_step: batches.prompts_per_step,
		num_mini_batches: key(
			count('Number of parts into which a generation batch is split, with one update per part.', 1, 1024),
			1,
		),
		num_ppo_epochs: key(count('Passes over each generation batch; 4 in TRL.', 1, 64), 1),
		...scoredSampling,
		kl_coef: key(
			real(
				'Weight of the per-token KL penalty against the reference in the reward (k1). 0 uses no reference; TRL defaults to 0.05.',
				0,
				1000,
			),
			0,
		),
		cliprange: key(real('Clip range around 1 for the probability ratio.', 0, 100), 0.2),
		vf_coef: key(real('Weight of the value loss.', 0, 1000), 0.1),
		cliprange_value: key(real('Clip range for new value estimates around those in the generation batch.', 0, 1e6), 0.2),
		gamma: key(real('Per-token discount factor for later rewards.', 0, 1), 1),
		lam: key(real('Lambda for generalized advantage estimation; 0.95 in TRL.', 0, 1), 1),
		whiten_advantages: key(flag('Normalize advantages per generation batch to mean 0 and standard deviation 1.'), true),
		critic_learning_rate: key(real('Peak learning rate of the critic.', 0, 10), null, { or: 'learning_rate' }),
		critic_warmup_steps: key(count('Initial updates that train only the critic.', 0, 10_000_000), 0),
	},
	{
		pytorch: {
			say: 'TRL 1.13 has no PPO trainer: set "engine": "embedded", or use the "grpo" or "rloo" stage.',
		},
	},
);
