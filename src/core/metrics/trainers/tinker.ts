import type { Trainer } from '../trainerName.ts';

export const tinker: Trainer = {
	formats: ['tinker'],
	title: 'Tinker cookbook',
	names: [
		{
			name: 'env/all/reward/total',
			canonical: 'reward',
			differs: 'Rewards of all steps plus the final reward, before groups are filtered.',
		},
		{
			name: 'env/all/correct',
			canonical: 'rewards/correct/mean',
			differs: 'A metric of the environment: mean over turns and trajectories that report it.',
		},
		{
			name: 'env/all/format',
			canonical: 'rewards/format/mean',
			differs: 'A metric of the environment, 0 or 1, before its coefficient (format_coef times format - 1 is added).',
		},
		{ name: 'env/all/by_group/frac_mixed', canonical: 'groups/solved_some' },
		{
			name: 'env/all/by_group/frac_all_good',
			canonical: 'groups/solved_all',
			differs: 'Groups whose equal rewards are 0.5 or more.',
		},
		{
			name: 'env/all/by_group/frac_all_bad',
			canonical: 'groups/solved_none',
			differs: 'Groups whose equal rewards are below 0.5.',
		},
		{
			name: 'env/all/ac_tokens_per_turn',
			canonical: 'completions/mean_length',
			differs: 'Per turn; equal to the total for single-turn episodes.',
		},
		{
			name: 'env/all/ob_tokens_per_turn',
			canonical: 'prompts/mean_length',
			differs: 'Per turn, including the preceding context.',
		},
		{
			name: 'optim/kl_sample_train_v1',
			canonical: 'sampling/mismatch_kl',
			differs: 'The k1 estimator: mean of log sampler - log trainer, which can be negative.',
		},
		{
			name: 'optim/kl_sample_train_v2',
			canonical: 'sampling/mismatch_kl',
			akin: true,
			differs: 'The k2 estimator: half the mean squared difference of log-probabilities.',
		},
		{
			name: 'optim/entropy',
			canonical: 'entropy',
			differs: 'Minus the mean log-probability of the sampled tokens, in the sampler.',
		},
		{
			name: 'kl_policy_base',
			canonical: 'kl',
			differs: 'The k1 estimator on sampled tokens: mean of log policy - log base, which can be negative.',
		},
		{ name: 'optim/lr', canonical: 'learning_rate' },
		{ name: 'time/total', canonical: 'step_time' },
		{
			name: 'time/sampling:total',
			canonical: 'time/generate',
			differs: 'Sum over parallel samplers.',
		},
		{ name: 'test/env/all/reward/total', canonical: 'eval/test/reward' },
		{ name: 'test/env/all/correct', canonical: 'eval/test/accuracy' },
	],
};
