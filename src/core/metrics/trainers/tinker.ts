import type { Trainer } from '../trainerName.ts';

export const tinker: Trainer = {
	formats: ['tinker'],
	title: 'Tinker cookbook',
	names: [
		{
			name: 'env/all/reward/total',
			canonical: 'reward',
			differs: 'Sum of all step rewards and the final reward, before groups are filtered.',
		},
		{
			name: 'env/all/correct',
			canonical: 'rewards/correct/mean',
			differs: 'Environment metric: mean over the turns and trajectories that report it.',
		},
		{
			name: 'env/all/format',
			canonical: 'rewards/format/mean',
			differs:
				'Environment metric, 0 or 1, before applying its coefficient (the reward adds format_coef times format - 1).',
		},
		{ name: 'env/all/by_group/frac_mixed', canonical: 'groups/solved_some' },
		{
			name: 'env/all/by_group/frac_all_good',
			canonical: 'groups/solved_all',
			differs: 'Groups whose rewards are all equal and at least 0.5.',
		},
		{
			name: 'env/all/by_group/frac_all_bad',
			canonical: 'groups/solved_none',
			differs: 'Groups whose rewards are all equal and below 0.5.',
		},
		{
			name: 'env/all/turns_per_episode',
			canonical: 'environment/turns',
			differs: 'Counts every action by the policy, including the last one.',
		},
		{
			name: 'env/all/ac_tokens_per_turn',
			canonical: 'completions/mean_length',
			differs: 'Per turn; equals the total for single-turn episodes.',
		},
		{
			name: 'env/all/ob_tokens_per_turn',
			canonical: 'prompts/mean_length',
			differs: 'Per turn, including the preceding context.',
		},
		{
			name: 'optim/kl_sample_train_v1',
			canonical: 'sampling/mismatch_kl',
			differs: 'k1 estimator: mean of log sampler - log trainer, which can be negative.',
		},
		{
			name: 'optim/kl_sample_train_v2',
			canonical: 'sampling/mismatch_kl',
			akin: true,
			differs: 'k2 estimator: half the mean squared difference between log-probabilities.',
		},
		{
			name: 'optim/entropy',
			canonical: 'entropy',
			differs: 'Negative mean log-probability of the sampled tokens, according to the sampler.',
		},
		{
			name: 'kl_policy_base',
			canonical: 'kl',
			differs: 'k1 estimator on sampled tokens: mean of log policy - log base, which can be negative.',
		},
		{ name: 'optim/lr', canonical: 'learning_rate' },
		{ name: 'time/total', canonical: 'step_time' },
		{
			name: 'time/sampling:total',
			canonical: 'time/generate',
			differs: 'Summed over parallel samplers.',
		},
		{ name: 'test/env/all/reward/total', canonical: 'eval/test/reward' },
		{ name: 'test/env/all/correct', canonical: 'eval/test/accuracy' },
	],
};
