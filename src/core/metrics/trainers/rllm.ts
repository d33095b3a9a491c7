import type { Trainer, TrainerName } from '../trainerName.ts';
import { verl } from './verl.ts';

/**
 * With the verl backend, rLLM logs verl's metric names; the names below are its own. Single-agent runs use the role
 * "default".
 */
const own: readonly TrainerName[] = [
	{ name: 'reward/default/mean', canonical: 'reward', differs: 'Only trajectories of a single role.' },
	{ name: 'reward/default/std', canonical: 'reward_std', differs: 'Population standard deviation (n).' },
	{ name: 'reward/default/max', canonical: 'reward_max' },
	{ name: 'reward/default/min', canonical: 'reward_min' },
	{ name: 'reward/{role}/mean', canonical: 'reward', akin: true, differs: 'Only trajectories of a single role.' },
	{
		name: 'advantage/default/mean',
		canonical: 'advantages/mean',
		differs: 'Over trajectories rather than tokens: 0 with GRPO.',
	},
	{ name: 'advantage/default/max', canonical: 'advantages/max' },
	{ name: 'advantage/default/min', canonical: 'advantages/min' },
	{
		name: 'advantage/default/fraction_zero',
		canonical: 'groups/dead',
		akin: true,
		differs: 'Fraction of trajectories, rather than groups, with an advantage of 0.',
	},
	{
		name: 'batch/default/fractions/effective',
		canonical: 'groups/solved_some',
		differs: 'Excludes groups with a single trajectory.',
	},
	{
		name: 'batch/default/fractions/too_easy',
		canonical: 'groups/solved_all',
		differs: 'Groups without reward variance whose mean is at least 1.',
	},
	{
		name: 'batch/default/fractions/too_hard',
		canonical: 'groups/solved_none',
		differs: 'Groups without reward variance whose mean is at most 0.',
	},
	{
		name: 'episode/response_tokens',
		canonical: 'completions/mean_length',
		differs: 'All turns of an episode combined.',
	},
	{ name: 'train/entropy', canonical: 'entropy', differs: 'Negative mean log-probability of the sampled tokens.' },
	{
		name: 'train/kl_sample_train_v1',
		canonical: 'sampling/mismatch_kl',
		differs: 'k1 estimator: mean of log sampler - log trainer, which can be negative.',
	},
	{ name: 'val/avg_reward', canonical: 'eval/val/reward' },
];

export const rllm: Trainer = { formats: ['rllm'], title: 'rLLM', names: [...own, ...verl.names] };
