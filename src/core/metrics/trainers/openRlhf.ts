import type { Trainer } from '../trainerName.ts';

/** Newer files contain both names. The exact values are written last and take precedence. */
const older = 'the only name before March 2026';
const weighted = 'The older name is a mean over micro-batches, which differ in size.';

export const openRlhf: Trainer = {
	formats: ['openrlhf'],
	title: 'OpenRLHF',
	names: [
		{ name: 'train/rollout/reward_mean', canonical: 'reward' },
		{ name: 'train/rollout/reward_std', canonical: 'reward_std' },
		{ name: 'train/rollout/response_length_mean', canonical: 'completions/mean_length' },
		{ name: 'train/rollout/truncated_rate', canonical: 'completions/clipped_ratio' },
		{ name: 'train/reward', canonical: 'reward', versions: older, differs: `After length penalties. ${weighted}` },
		{ name: 'train/response_length', canonical: 'completions/mean_length', versions: older, differs: weighted },
		{ name: 'train/truncated', canonical: 'completions/clipped_ratio', versions: older, differs: weighted },
		{
			name: 'train/return',
			canonical: 'reward',
			akin: true,
			differs: 'Reward of a completion minus the KL penalty for its tokens.',
		},
		{ name: 'train/group_reward_std', canonical: 'group_reward_std', differs: 'Sample standard deviation (n - 1).' },
		{
			name: 'train/kl',
			canonical: 'kl',
			differs:
				'Estimator is set by --algo.kl.estimator (k1 by default, which can be negative). Mean over sequences of token means.',
		},
		{
			name: 'train/logprobs_diff',
			canonical: 'kl',
			akin: true,
			differs: 'k1 estimator: mean of log policy - log reference, which can be negative.',
		},
		{ name: 'train/ppo_kl', canonical: 'policy_kl' },
		{
			name: 'train/vllm_kl',
			canonical: 'sampling/mismatch_kl',
			differs: 'k1 estimator: mean of log sampler - log trainer, which can be negative.',
		},
		{ name: 'train/ppo_clip_ratio', canonical: 'clip_ratio/region_mean' },
		{ name: 'train/entropy_loss', canonical: 'entropy' },
		{ name: 'train/policy_loss', canonical: 'loss', differs: 'Mean over tokens, without the KL term.' },
		{ name: 'train/actor_lr', canonical: 'learning_rate' },
		{ name: 'train/actor_grad_norm', canonical: 'grad_norm' },
		{ name: 'train/timing/generation', canonical: 'time/generate' },
		{
			name: 'train/timing/make_experience',
			canonical: 'time/logprobs',
			differs: 'Includes computing rewards and advantages.',
		},
		{ name: 'train/timing/ppo_train', canonical: 'time/update' },
		{ name: 'train/timing/broadcast', canonical: 'time/weights' },
		{ name: 'train/timing/step_total', canonical: 'step_time' },
		{
			name: 'eval/eval_{name}_pass1',
			canonical: 'eval/{name}/accuracy',
			differs: 'Mean reward over the samples, which equals accuracy if rewards are 0 or 1.',
		},
		{
			name: 'eval/eval_{name}_pass{n}',
			canonical: 'eval/{name}/pass@{n}',
			differs: 'Mean of the highest reward per prompt.',
		},
	],
};
