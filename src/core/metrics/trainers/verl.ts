import type { Trainer, TrainerName } from '../trainerName.ts';

const parts = (own: string, canonical: (part: string) => string, differs?: string): TrainerName[] =>
	['mean', 'max', 'min'].map((part) => ({
		name: `${own}/${part}`,
		canonical: canonical(part),
		...(differs === undefined ? {} : { differs }),
	}));

const aggregated =
	'Averaged according to loss_agg_mode, either over all tokens (token-mean, the default) or over sequences first (seq-mean-...), and over micro-batches.';

export const verl: Trainer = {
	formats: ['verl'],
	title: 'verl',
	names: [
		...parts(
			'critic/score',
			(part) => (part === 'mean' ? 'reward' : `reward_${part}`),
			'Output of the reward function, averaged over sequences. Excludes aborted (empty) completions.',
		),
		...['mean', 'max', 'min'].map((part) => ({
			name: `critic/rewards/${part}`,
			canonical: part === 'mean' ? 'reward' : `reward_${part}`,
			akin: true as const,
			differs:
				'The score minus the KL penalty if use_kl_in_reward is on. This is the training signal rather than the original reward.',
		})),
		...parts(
			'critic/advantages',
			(part) => `advantages/${part}`,
			'Over tokens, so long completions count for more. With GRPO, the mean is not 0.',
		),
		...['mean', 'max', 'min'].map((part) => ({
			name: `critic/returns/${part}`,
			canonical: `advantages/${part}`,
			akin: true as const,
			differs: 'Returns over tokens. With GRPO, they equal the advantages.',
		})),
		{ name: 'actor/entropy', canonical: 'entropy', differs: `For the policy before the update. ${aggregated}` },
		{
			name: 'actor/entropy_loss',
			canonical: 'entropy',
			versions: 'up to 0.3',
			differs: `For the policy before the update. ${aggregated}`,
		},
		{
			name: 'actor/kl_loss',
			canonical: 'kl',
			differs: `Estimator is set by kl_loss_type (low_var_kl is k3, clipped at 10). ${aggregated}`,
		},
		{
			name: 'actor/reward_kl_penalty',
			canonical: 'kl',
			akin: true,
			differs:
				'KL to the reference that is subtracted from the reward (use_kl_in_reward). Mean over sequences of token means.',
		},
		{
			name: 'actor/ppo_kl',
			canonical: 'policy_kl',
			differs:
				'KL between the policy before the batch and the current policy, not the KL to the reference. About 0 with one update per batch.',
		},
		{
			name: 'actor/pg_clipfrac',
			canonical: 'clip_ratio/region_mean',
			differs: 'Tokens for which the clipped term is larger, on either side.',
		},
		{
			name: 'actor/pg_clipfrac_lower',
			canonical: 'clip_ratio/low_mean',
			akin: true,
			differs: 'Tokens clipped by the dual clip (clip_ratio_c, negative advantages only) rather than by 1 - epsilon.',
		},
		{
			name: 'actor/pg_loss',
			canonical: 'loss',
			differs: `Excludes the KL and entropy terms. ${aggregated}`,
		},
		{ name: 'actor/grad_norm', canonical: 'grad_norm', differs: 'Mean over the mini-batches in the step.' },
		{ name: 'actor/lr', canonical: 'learning_rate' },
		{ name: 'training/epoch', canonical: 'epoch' },
		...parts(
			'response_length',
			(part) => `completions/${part}_length`,
			'Aborted completions count with a length of 0.',
		),
		{
			name: 'response_length/clip_ratio',
			canonical: 'completions/clipped_ratio',
			differs: 'Completions of exactly max_response_length tokens, including those that finished on the last token.',
		},
		...['mean', 'max', 'min'].map((part) => ({
			name: `response_length_non_aborted/${part}`,
			canonical: `completions/${part}_length`,
			akin: true as const,
			differs: 'Excludes aborted completions.',
		})),
		...parts('prompt_length', (part) => `prompts/${part}_length`),
		{ name: 'prompt_length/clip_ratio', canonical: 'prompts/clipped_ratio' },
		{
			name: 'training/rollout_probs_diff_mean',
			canonical: 'sampling/sampling_logp_difference/mean',
			akin: true,
			differs: 'Difference between probabilities rather than log-probabilities.',
		},
		{
			name: 'rollout_corr/k3_kl',
			canonical: 'sampling/mismatch_kl',
			differs: 'k3 estimator, averaged over tokens.',
		},
		{
			name: 'rollout_corr/kl',
			canonical: 'sampling/mismatch_kl',
			akin: true,
			differs: 'k1 estimator: mean of log sampler - log trainer, which can be negative.',
		},
		{ name: 'tool_call_counts/mean', canonical: 'tools/call_frequency' },
		{
			name: 'num_turns/mean',
			canonical: 'environment/turns',
			akin: true,
			differs: 'Counts the messages of all roles, including the prompt.',
		},
		{
			name: 'timing_s/agent_loop/tool_calls/mean',
			canonical: 'environment/seconds',
			akin: true,
			differs: 'Mean per completion; tool calls only.',
		},
		{ name: 'timing_s/gen', canonical: 'time/generate' },
		{ name: 'timing_s/reward', canonical: 'time/reward' },
		{ name: 'timing_s/old_log_prob', canonical: 'time/logprobs' },
		{ name: 'timing_s/ref', canonical: 'time/reference' },
		{ name: 'timing_s/adv', canonical: 'time/advantages' },
		{ name: 'timing_s/update_actor', canonical: 'time/update' },
		{ name: 'timing_s/update_weights', canonical: 'time/weights' },
		{ name: 'timing_s/testing', canonical: 'time/evaluate' },
		{ name: 'timing_s/save_checkpoint', canonical: 'time/checkpoint' },
		{ name: 'timing_s/step', canonical: 'step_time' },
		{
			name: 'perf/throughput',
			canonical: 'throughput/tokens',
			differs: 'Prompt and completion tokens per second over the entire step, per GPU.',
		},
		{
			name: 'val-core/{source}/acc/mean@{n}',
			canonical: 'eval/{source}/accuracy',
			differs: 'Mean over prompts of the mean over n samples of the "acc" value from the reward function.',
		},
		{
			name: 'val-core/{source}/reward/mean@{n}',
			canonical: 'eval/{source}/reward',
			differs: 'Mean over prompts of the mean over n samples.',
		},
		...['val-core', 'val-aux'].flatMap((space): TrainerName[] => [
			{
				name: `${space}/{source}/acc/best@{n}/mean`,
				canonical: 'eval/{source}/pass@{n}',
				differs: 'Bootstrap estimate over the samples for each prompt.',
			},
			{
				name: `${space}/{source}/{variable}/maj@{n}/mean`,
				canonical: 'eval/{source}/accuracy',
				akin: true,
				differs: 'Accuracy of the most frequent answer among n samples, estimated by bootstrap.',
			},
		]),
	],
};
