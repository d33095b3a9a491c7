import type { Trainer, TrainerName } from '../trainerName.ts';

const every = 'Over every rollout received, including those dropped before training (subset "all").';
const weighted = 'After weighting.';

const trained = (own: string, canonical: string): TrainerName => ({
	name: `train/agg/effective/agent/${own}`,
	canonical,
	akin: true,
	differs: 'Only over rollouts that are trained on: groups without reward variance are missing.',
});

export const primeRl: Trainer = {
	formats: ['primerl', 'verifiers'],
	title: 'prime-rl',
	names: [
		{ name: 'train/agg/all/agent/reward/mean', canonical: 'reward', differs: every },
		{ name: 'train/agg/all/agent/reward/max', canonical: 'reward_max', differs: every },
		{ name: 'train/agg/all/agent/reward/min', canonical: 'reward_min', differs: every },
		trained('reward/mean', 'reward'),
		{
			name: 'train/agg/all/agent/rewards/{name}/mean',
			canonical: 'rewards/{name}/mean',
			differs: `${weighted} ${every}`,
		},
		...['mean', 'max', 'min'].map((part) => ({
			name: `train/agg/all/agent/num_output_tokens/${part}`,
			canonical: `completions/${part}_length`,
			differs: `All turns of a rollout together. ${every}`,
		})),
		trained('num_output_tokens/mean', 'completions/mean_length'),
		{
			name: 'train/agg/all/agent/is_truncated/mean',
			canonical: 'completions/clipped_ratio',
			differs: `Any limit counts: tokens, turns, context. ${every}`,
		},
		...['mean', 'max', 'min'].map((part) => ({
			name: `train/agg/all/agent/num_input_tokens/${part}`,
			canonical: `prompts/${part}_length`,
		})),
		{
			name: 'train/agg/all/agent/solved_none',
			canonical: 'groups/solved_none',
			differs: 'Groups whose rewards add up to 0.',
		},
		{
			name: 'train/agg/all/agent/solved_all',
			canonical: 'groups/solved_all',
			differs: 'Groups all of whose rewards are exactly 1: with other scales it stays 0.',
		},
		{
			name: 'train/agg/all/agent/solved_some',
			canonical: 'groups/solved_some',
			differs: '1 minus the other two, so groups of equal rewards between 0 and 1 count as informative.',
		},
		{ name: 'eval/{name}/all/agent/reward/mean', canonical: 'eval/{name}/reward' },
		{ name: 'eval/{name}/all/agent/avg@{n}', canonical: 'eval/{name}/reward', differs: 'Mean over n samples a task.' },
		{ name: 'eval/{name}/all/agent/pass@{n}', canonical: 'eval/{name}/pass@{n}' },
		{ name: 'entropy/mean', canonical: 'entropy', differs: 'Over the tokens of the loss.' },
		{ name: 'entropy/all/mean', canonical: 'entropy', differs: 'Over the tokens of the loss.' },
		{
			name: 'mismatch_kl/mean',
			canonical: 'sampling/mismatch_kl',
			differs: 'k3 of trainer and sampler; training is asynchronous, so steps in between contribute.',
		},
		{
			name: 'mismatch_kl/all/mean',
			canonical: 'sampling/mismatch_kl',
			differs: 'k3 of trainer and sampler; training is asynchronous, so steps in between contribute.',
		},
		{ name: 'optim/loss', canonical: 'loss' },
		{ name: 'loss/mean', canonical: 'loss', differs: 'Mean over micro-batches.' },
		{ name: 'optim/grad_norm', canonical: 'grad_norm' },
		{ name: 'optim/lr', canonical: 'learning_rate' },
		{
			name: 'time/step',
			canonical: 'step_time',
			differs: 'Orchestrator and trainer both write it, each for its own step; the later value is used.',
		},
		{ name: 'time/forward_backward', canonical: 'time/update' },
		{ name: 'time/broadcast_weights', canonical: 'time/weights' },
		{ name: 'time/save_ckpt', canonical: 'time/checkpoint' },
		{
			name: 'perf/throughput',
			canonical: 'throughput/tokens',
			differs: 'Tokens trained on per second of forward and backward passes.',
		},
		{ name: 'progress/total_tokens', canonical: 'num_tokens' },
	],
};
