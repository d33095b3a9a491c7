import type { Trainer } from '../trainerName.ts';

export const art: Trainer = {
	formats: ['art'],
	title: 'ART',
	names: [
		{ name: 'train/reward', canonical: 'reward', differs: 'Excludes trajectories that raised an error.' },
		{
			name: 'train/reward_std_dev',
			canonical: 'group_reward_std',
			differs: 'Population standard deviation (divisor n), averaged over groups.',
		},
		{ name: 'train/loss', canonical: 'loss' },
		{ name: 'train/policy_loss', canonical: 'loss', akin: true, differs: 'Without the KL term.' },
		{ name: 'train/grad_norm', canonical: 'grad_norm' },
		{ name: 'train/entropy', canonical: 'entropy' },
		{ name: 'train/kl_div', canonical: 'kl', differs: 'k3, weighted like the loss. Only if beta is above 0.' },
		{ name: 'train/learning_rate', canonical: 'learning_rate' },
		{ name: 'val/reward', canonical: 'eval/val/reward' },
		{ name: 'val/reward_std_dev', canonical: 'eval/group_reward_std' },
	],
};
