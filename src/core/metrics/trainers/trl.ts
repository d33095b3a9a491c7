import { sameNames, type Trainer, type TrainerName } from '../trainerName.ts';

const plain: readonly TrainerName[] = [
	...sameNames(
		'reward',
		'rewards/{name}/mean',
		'rewards/{name}/std',
		'clip_ratio/low_mean',
		'clip_ratio/low_min',
		'clip_ratio/high_mean',
		'clip_ratio/high_max',
		'clip_ratio/region_mean',
		'completions/clipped_ratio',
		'grad_norm',
		'learning_rate',
		'epoch',
		'sampling/sampling_logp_difference/mean',
		'sampling/sampling_logp_difference/max',
		'rewards/chosen',
		'rewards/rejected',
		'rewards/accuracies',
		'rewards/margins',
		'logps/chosen',
		'logps/rejected',
		'logits/chosen',
		'logits/rejected',
		'mean_token_accuracy',
		'cispo_clip_ratio',
		'vespo/phi_seq_mean',
		'policy_loss',
		'entropy_coef',
		'aux_loss',
		'margin',
		'mean_reward',
		'min_reward',
		'max_reward',
		'tools/call_frequency',
		'tools/failure_frequency',
	),
	{
		name: 'kl',
		canonical: 'kl',
		differs:
			'With AsyncGRPOTrainer, the divergence between the policy and the policy that sampled instead of the reference.',
	},
	{
		name: 'reward_std',
		canonical: 'reward_std',
		differs:
			'Up to 0.26, the mean of the standard deviations within groups; since 0.27, the standard deviation over the entire batch. If logging_steps is above 1, it is the mean over the logged steps.',
	},
	{
		name: 'frac_reward_zero_std',
		canonical: 'frac_reward_zero_std',
	},
	{
		name: 'entropy',
		canonical: 'entropy',
		differs: 'In 0.20 to 0.29, the mean of per-process means. Not scaled by the sampling temperature.',
	},
	{
		name: 'loss',
		canonical: 'loss',
		differs:
			'With loss_type "grpo", it starts at 0 (ratio 1, mean advantage 0). With "dapo" (the default since 0.22), "bnpo", and "dr_grpo", it starts at minus the length-weighted mean advantage. Both are expected.',
	},
	...['mean', 'min', 'max'].flatMap((part) => [
		{
			name: `completions/${part}_length`,
			canonical: `completions/${part}_length`,
			differs: 'With tools, tokens in tool results are not counted.',
		},
		{
			name: `completions/${part}_terminated_length`,
			canonical: `completions/${part}_terminated_length`,
			differs: '0 if no completion finished.',
		},
	]),
	{
		name: 'num_tokens',
		canonical: 'num_tokens',
		differs: 'Prompt tokens are counted once per completion, and tool tokens are excluded.',
	},
	{ name: 'step_time', canonical: 'step_time', differs: 'Mean over the logged steps.' },
	...['min', 'mean', 'max'].map((part) => ({
		name: `sampling/importance_sampling_ratio/${part}`,
		canonical: `sampling/importance_sampling_ratio/${part}`,
		differs: 'After truncation at vllm_importance_sampling_cap. Per sequence in the sequence modes.',
	})),
	{ name: 'completion_length', canonical: 'completions/mean_length', versions: 'up to 0.16, and Unsloth' },
	{
		name: 'clip_ratio',
		canonical: 'clip_ratio/region_mean',
		versions: '0.16, and with Liger',
		differs: 'Named clip_ratio; mean of per-process means.',
	},
	{ name: 'rewards/{name}', canonical: 'rewards/{name}/mean', versions: 'up to 0.16' },
];

const inEvaluation = (entry: TrainerName, prefix: string): TrainerName => ({
	...entry,
	name: `${prefix}${entry.name}`,
	canonical: `eval/${entry.canonical}`,
});

/** trainer_state.json uses plain names, with the prefix `eval_` for evaluations. TensorBoard uses folders. */
export const trl: Trainer = {
	formats: ['trl', 'unsloth'],
	title: 'TRL',
	names: [
		...plain,
		...plain.map((entry) => inEvaluation(entry, 'eval_')),
		...plain.map((entry) => ({ ...entry, name: `train/${entry.name}`, versions: 'in TensorBoard' })),
		...plain.map((entry) => ({ ...inEvaluation(entry, 'eval/'), versions: 'in TensorBoard' })),
	],
};
