import type { Trainer } from '../trainerName.ts';

export const art: Trainer = {
	formats: ['art'],
	title: 'ART',
	names: [
		{ name: 'train/reward', canonical: 'reward' },
		{ name: 'train/loss', canonical: 'loss' },
		{ name: 'train/grad_norm', canonical: 'grad_norm' },
		{ name: 'train/entropy', canonical: 'entropy' },
		{ name: 'val/reward', canonical: 'eval/val/reward' },
	],
};
