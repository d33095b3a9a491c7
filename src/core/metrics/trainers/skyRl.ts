import type { Trainer } from '../trainerName.ts';

export const skyRl: Trainer = {
	formats: ['skyrl'],
	title: 'SkyRL',
	names: [
		{ name: 'eval/{name}/avg_score', canonical: 'eval/{name}/reward' },
		{ name: 'eval/{name}/pass_at_{n}', canonical: 'eval/{name}/pass@{n}' },
	],
};
