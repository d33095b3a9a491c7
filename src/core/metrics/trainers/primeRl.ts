import type { Trainer } from '../trainerName.ts';

export const primeRl: Trainer = {
	formats: ['primerl', 'verifiers'],
	title: 'prime-rl',
	names: [
		{ name: 'train/agg/all/agent/reward/mean', canonical: 'reward' },
		{ name: 'train/agg/all/agent/reward/max', canonical: 'reward_max' },
		{ name: 'train/agg/all/agent/reward/min', canonical: 'reward_min' },
		{ name: 'train/agg/all/agent/rewards/{name}/mean', canonical: 'rewards/{name}/mean' },
		{ name: 'train/agg/all/agent/num_output_tokens/mean', canonical: 'completions/mean_length' },
		{ name: 'train/agg/all/agent/num_output_tokens/max', canonical: 'completions/max_length' },
		{ name: 'train/agg/all/agent/num_output_tokens/min', canonical: 'completions/min_length' },
		{ name: 'train/agg/all/agent/is_truncated/mean', canonical: 'completions/clipped_ratio' },
		{ name: 'train/agg/all/agent/num_input_tokens/mean', canonical: 'prompts/mean_length' },
		{ name: 'train/agg/all/agent/solved_none', canonical: 'groups/solved_none' },
		{ name: 'train/agg/all/agent/solved_all', canonical: 'groups/solved_all' },
		{ name: 'train/agg/all/agent/solved_some', canonical: 'groups/solved_some' },
		{ name: 'eval/{name}/all/agent/reward/mean', canonical: 'eval/{name}/reward' },
		{ name: 'entropy/mean', canonical: 'entropy' },
		{ name: 'mismatch_kl/mean', canonical: 'sampling/mismatch_kl' },
		{ name: 'optim/loss', canonical: 'loss' },
		{ name: 'optim/grad_norm', canonical: 'grad_norm' },
		{ name: 'optim/lr', canonical: 'learning_rate' },
		{ name: 'time/step', canonical: 'step_time' },
		{ name: 'perf/throughput', canonical: 'throughput/tokens' },
		{ name: 'progress/total_tokens', canonical: 'num_tokens' },
	],
};
