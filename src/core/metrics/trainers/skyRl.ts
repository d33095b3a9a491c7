import type { Trainer } from '../trainerName.ts';

export const skyRl: Trainer = {
	formats: ['skyrl'],
	title: 'SkyRL',
	names: [
		{ name: 'reward/avg_raw_reward', canonical: 'reward', differs: 'Before any KL penalty.' },
		{
			name: 'loss/avg_final_rewards',
			canonical: 'reward',
			akin: true,
			differs: 'After the KL penalty, if it is applied to the reward.',
		},
		{ name: 'loss/avg_raw_advantages', canonical: 'advantages/mean', differs: 'Over tokens.' },
		{ name: 'loss/avg_kl', canonical: 'kl', versions: 'if KL is in the reward' },
		{ name: 'policy/policy_kl', canonical: 'kl', versions: 'if KL is in the loss' },
		{ name: 'policy/policy_entropy', canonical: 'entropy', differs: 'Mean over micro-batches.' },
		{ name: 'policy/policy_loss', canonical: 'loss' },
		{ name: 'policy/policy_lr', canonical: 'learning_rate' },
		{ name: 'policy/raw_grad_norm', canonical: 'grad_norm' },
		{ name: 'policy/grad_norm', canonical: 'grad_norm' },
		{
			name: 'policy/rollout_train_logprobs_abs_diff_mean',
			canonical: 'sampling/sampling_logp_difference/mean',
		},
		{
			name: 'policy/rollout_train_logprobs_abs_diff_max',
			canonical: 'sampling/sampling_logp_difference/max',
		},
		{ name: 'generate/avg_num_tokens', canonical: 'completions/mean_length' },
		{ name: 'generate/min_num_tokens', canonical: 'completions/min_length' },
		{ name: 'generate/max_num_tokens', canonical: 'completions/max_length' },
		{ name: 'trainer/epoch', canonical: 'epoch' },
		{
			name: 'trainer/tokens_per_second_per_gpu',
			canonical: 'throughput/tokens',
			differs: 'Prompt and completion tokens per second of training, per GPU.',
		},
		{ name: 'timing/step', canonical: 'step_time' },
		{ name: 'timing/generate', canonical: 'time/generate' },
		{ name: 'timing/eval', canonical: 'time/evaluate' },
		{
			name: 'eval/{name}/avg_score',
			canonical: 'eval/{name}/reward',
			differs: 'Per-token rewards are summed. "all" is the mean over all rows.',
		},
		{
			name: 'eval/{name}/pass_at_{n}',
			canonical: 'eval/{name}/pass@{n}',
			differs: 'A sample counts as correct if any of its rewards is above 0.',
		},
	],
};
