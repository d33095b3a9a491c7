import { sameNames, type Trainer, type TrainerName } from '../trainerName.ts';

const plain: readonly TrainerName[] = [
	...sameNames(
		'reward',
		'frac_reward_zero_std',
		'rewards/{name}/mean',
		'rewards/{name}/std',
		'entropy',
		'kl',
		'clip_ratio/low_mean',
		'clip_ratio/low_min',
		'clip_ratio/high_mean',
		'clip_ratio/high_max',
		'clip_ratio/region_mean',
		'completions/mean_length',
		'completions/min_length',
		'completions/max_length',
		'completions/clipped_ratio',
		'completions/mean_terminated_length',
		'completions/min_terminated_length',
		'completions/max_terminated_length',
		'loss',
		'grad_norm',
		'learning_rate',
		'epoch',
		'num_tokens',
		'step_time',
		'sampling/sampling_logp_difference/mean',
		'sampling/sampling_logp_difference/max',
		'sampling/importance_sampling_ratio/min',
		'sampling/importance_sampling_ratio/mean',
		'sampling/importance_sampling_ratio/max',
		'tools/call_frequency',
		'tools/failure_frequency',
	),
	{ name: 'reward_std', canonical: 'reward_std' },
	{ name: 'completion_length', canonical: 'completions/mean_length', versions: 'up to 0.15, and Unsloth' },
	{ name: 'clip_ratio', canonical: 'clip_ratio/region_mean', versions: '0.16 to 0.17' },
	{ name: 'rewards/{name}', canonical: 'rewards/{name}/mean', versions: 'up to 0.16' },
];

/** The logs in trainer_state.json have plain names, with `eval_` before those of evaluations; TensorBoard has folders. */
export const trl: Trainer = {
	formats: ['trl', 'unsloth'],
	title: 'TRL',
	names: [
		...plain,
		...plain.map((entry) => ({ ...entry, name: `eval_${entry.name}`, canonical: `eval/${entry.canonical}` })),
		...plain.map((entry) => ({ ...entry, name: `train/${entry.name}` })),
		...plain.map((entry) => ({ ...entry, name: `eval/${entry.name}`, canonical: `eval/${entry.canonical}` })),
	],
};
