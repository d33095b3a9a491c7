import type { Trainer } from '../trainerName.ts';

export const tinker: Trainer = {
	formats: ['tinker'],
	title: 'Tinker cookbook',
	names: [
		{ name: 'env/all/reward/total', canonical: 'reward' },
		{ name: 'env/all/correct', canonical: 'rewards/correct/mean' },
		{ name: 'env/all/format', canonical: 'rewards/format/mean' },
		{ name: 'env/all/by_group/frac_mixed', canonical: 'groups/solved_some' },
		{ name: 'env/all/by_group/frac_all_good', canonical: 'groups/solved_all' },
		{ name: 'env/all/by_group/frac_all_bad', canonical: 'groups/solved_none' },
		{ name: 'optim/kl_sample_train_v1', canonical: 'sampling/mismatch_kl' },
		{ name: 'optim/entropy', canonical: 'entropy' },
		{ name: 'optim/lr', canonical: 'learning_rate' },
		{ name: 'time/total', canonical: 'step_time' },
	],
};
