import type { Trainer } from '../trainerName.ts';

/** Scalars are logged with prefixes to TensorBoard, W&B, and other services. The JSONL files contain only rollouts. */
export const nemoRl: Trainer = {
	formats: ['nemorl', 'nemo'],
	title: 'NeMo-RL',
	names: [
		{
			name: 'train/reward',
			canonical: 'reward',
			differs:
				'After reward scaling and shaping. With dynamic sampling, it covers all groups; filtered_reward covers only those kept.',
		},
		{ name: 'train/advantages/mean', canonical: 'advantages/mean' },
		{ name: 'train/advantages/max', canonical: 'advantages/max' },
		{ name: 'train/advantages/min', canonical: 'advantages/min' },
		{
			name: 'train/approx_entropy',
			canonical: 'entropy',
			differs: 'Rough estimate based only on the sampled tokens, weighted by trainer/sampler.',
		},
		{
			name: 'train/kl_penalty',
			canonical: 'kl',
			differs:
				'Estimator is set by reference_policy_kl_type (k3 by default). Averaged over tokens or sequences, depending on token_level_loss.',
		},
		{
			name: 'train/gen_kl_error',
			canonical: 'sampling/mismatch_kl',
			differs:
				'KL between sampler and trainer with the sampler policy as the reference distribution, measured before the update.',
		},
		{
			name: 'train/policy_kl_error',
			canonical: 'sampling/mismatch_kl',
			akin: true,
			differs:
				'Computed with the trainer policy as the reference distribution, so a single rare token can dominate the value.',
		},
		{
			name: 'train/token_mult_prob_error',
			canonical: 'sampling/sampling_logp_difference/mean',
			akin: true,
			differs: 'Mean of exp |log trainer - log sampler|: 1 if they agree. A steep trend past 1.02 indicates a problem.',
		},
		{
			name: 'train/sampling_importance_ratio',
			canonical: 'sampling/importance_sampling_ratio/mean',
			differs: 'Per sequence with sequence_level_importance_ratios.',
		},
		{ name: 'train/loss', canonical: 'loss' },
		{ name: 'train/grad_norm', canonical: 'grad_norm' },
		{ name: 'train/lr', canonical: 'learning_rate' },
		{
			name: 'train/mean_gen_tokens_per_sample',
			canonical: 'completions/mean_length',
			differs: 'All turns of a sample combined.',
		},
		{
			name: 'train/truncation_rate',
			canonical: 'completions/clipped_ratio',
		},
		...['train/avg_turns_per_sample', 'train/turns_per_sample/mean'].map((name) => ({
			name,
			canonical: 'environment/turns',
			differs: 'Counts every message from the policy, including the last one.',
		})),
		{ name: 'train/mean_prompt_length', canonical: 'prompts/mean_length' },
		{ name: 'timing/train/total_step_time', canonical: 'step_time' },
		{ name: 'timing/train/generation', canonical: 'time/generate' },
		{ name: 'timing/train/policy_training', canonical: 'time/update' },
		{
			name: 'timing/train/valid_tokens_per_sec_per_gpu',
			canonical: 'throughput/tokens',
			differs: 'Training tokens per second over the entire step, per GPU.',
		},
		{
			name: 'validation/accuracy',
			canonical: 'eval/validation/accuracy',
			differs: 'Mean reward over the validation samples, which equals accuracy if rewards are 0 or 1.',
		},
		{ name: 'validation/pass_k', canonical: 'eval/validation/pass@k' },
	],
};
