import type { Trainer } from '../trainerName.ts';

export const openRlhf: Trainer = {
	formats: ['openrlhf'],
	title: 'OpenRLHF',
	names: [
		{ name: 'train/reward', canonical: 'reward' },
		{ name: 'train/response_length', canonical: 'completions/mean_length' },
		{ name: 'train/truncated', canonical: 'completions/clipped_ratio' },
		{ name: 'train/kl', canonical: 'kl' },
		{ name: 'train/policy_loss', canonical: 'loss' },
		{ name: 'train/actor_lr', canonical: 'learning_rate' },
		{ name: 'train/actor_grad_norm', canonical: 'grad_norm' },
		{ name: 'train/timing/generation', canonical: 'time/generate' },
		{ name: 'train/timing/ppo_train', canonical: 'time/update' },
		{ name: 'train/timing/step_total', canonical: 'step_time' },
		{ name: 'eval/eval_{name}_pass1', canonical: 'eval/{name}/accuracy' },
	],
};
