import type { Trainer, TrainerName } from '../trainerName.ts';

const every = 'Covers every rollout received, including those dropped before training (subset "all").';
const weighted = 'After weighting.';

const trained = (own: string, canonical: string): TrainerName => ({
	name: `train/agg/effective/agent/${own}`,
	canonical,
	akin: true,
	differs: 'Covers only rollouts used for training, so groups without reward variance are missing.',
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
			differs: `All turns of a rollout combined. ${every}`,
		})),
		trained('num_output_tokens/mean', 'completions/mean_length'),
		{
			name: 'train/agg/all/agent/is_truncated/mean',
			canonical: 'completions/clipped_ratio',
			differs: `Counts any limit: tokens, turns, or context. ${every}`,
		},
		...['mean', 'max', 'min'].map((part) => ({
			name: `train/agg/all/agent/num_input_tokens/${part}`,
			canonical: `prompts/${part}_length`,
		})),
		{
			name: 'train/agg/all/agent/num_turns/mean',
			canonical: 'environment/turns',
			differs: `Counts every message from the policy, including the last one. ${every}`,
		},
		{
			name: 'train/agg/all/agent/solved_none',
			canonical: 'groups/solved_none',
			differs: 'Groups whose rewards sum to 0.',
		},
		{
			name: 'train/agg/all/agent/solved_all',
			canonical: 'groups/solved_all',
			differs: 'Groups in which all rewards are exactly 1; on other scales, it is always 0.',
		},
		{
			name: 'train/agg/all/agent/solved_some',
			canonical: 'groups/solved_some',
			differs: '1 minus the other two, so groups with equal rewards between 0 and 1 count as informative.',
		},
		{ name: 'eval/{name}/all/agent/reward/mean', canonical: 'eval/{name}/reward' },
		{
			name: 'eval/{name}/all/agent/avg@{n}',
			canonical: 'eval/{name}/reward',
			differs: 'Mean over n samples per task.',
		},
		{ name: 'eval/{name}/all/agent/pass@{n}', canonical: 'eval/{name}/pass@{n}' },
		{ name: 'entropy/mean', canonical: 'entropy', differs: 'Over the tokens that contribute to the loss.' },
		{ name: 'entropy/all/mean', canonical: 'entropy', differs: 'Over the tokens that contribute to the loss.' },
		{
			name: 'mismatch_kl/mean',
			canonical: 'sampling/mismatch_kl',
			differs:
				'k3 between trainer and sampler. Training is asynchronous, so updates made since sampling contribute too.',
		},
		{
			name: 'mismatch_kl/all/mean',
			canonical: 'sampling/mismatch_kl',
			differs:
				'k3 between trainer and sampler. Training is asynchronous, so updates made since sampling contribute too.',
		},
		{ name: 'optim/loss', canonical: 'loss' },
		{ name: 'loss/mean', canonical: 'loss', differs: 'Mean over micro-batches.' },
		{ name: 'optim/grad_norm', canonical: 'grad_norm' },
		{ name: 'optim/lr', canonical: 'learning_rate' },
		{
			name: 'time/step',
			canonical: 'step_time',
			differs: 'Written by both the orchestrator and the trainer, each for its own step; the later value is used.',
		},
		{ name: 'time/forward_backward', canonical: 'time/update' },
		{ name: 'time/broadcast_weights', canonical: 'time/weights' },
		{ name: 'time/save_ckpt', canonical: 'time/checkpoint' },
		{
			name: 'perf/throughput',
			canonical: 'throughput/tokens',
			differs: 'Training tokens per second during forward and backward passes.',
		},
		{ name: 'progress/total_tokens', canonical: 'num_tokens' },
	],
};
