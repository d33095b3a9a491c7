import { curriculumKeys } from './curriculumKeys.ts';
import { proposalKeys } from './proposalKeys.ts';
import { choice, count, flag, real } from './recipeFields.ts';
import { bareKey, type KeyFacts, key, type Lack, live, sameAs, stageOf } from './recipeKey.ts';
import { samplerKeys } from './samplerKeys.ts';
import { batches, generations, optimizer, scoredSampling } from './stageFields.ts';

/** Stages that compare a completion's reward with the rewards of the other completions in its group (same prompt). */

export const lossTypes = [
	'grpo',
	'bnpo',
	'dr_grpo',
	'dapo',
	'cispo',
	'sapo',
	'luspo',
	'vespo',
	'gmpo',
	'dppo_tv',
	'dppo_kl',
] as const;
export type LossType = (typeof lossTypes)[number];

/** Loss types that compare each token's or completion's ratio with clip bounds. */
const clippingTypes: readonly unknown[] = ['grpo', 'bnpo', 'dr_grpo', 'dapo', 'luspo'] satisfies LossType[];

/** Divisor for advantages: a standard deviation of rewards, or none. */
export const rewardScales = ['group', 'batch', 'none'] as const;
export type ScaleRewards = (typeof rewardScales)[number];

/** How advantages are computed from a group's rewards. */
export const advantageEstimators = ['grpo', 'maxrl', 'pass_at_k'] as const;
export type AdvantageEstimator = (typeof advantageEstimators)[number];

/** Whether rewards are summed before they are normalized within groups, or each one is normalized first (GDPO). */
export const rewardAggregations = ['sum_then_normalize', 'normalize_then_sum'] as const;
export type RewardAggregation = (typeof rewardAggregations)[number];

/** Whether all tokens in an episode share one advantage, or each turn has its own. */
export const creditAssignments = ['episode', 'turn'] as const;
export type CreditAssignment = (typeof creditAssignments)[number];

const groups = {
	...optimizer,
	num_generations: generations('Completions per prompt, G.', 2, 8),
	...batches,
	...scoredSampling,
	...curriculumKeys,
	...proposalKeys,
};

const beta = (words: string) =>
	live(
		key(real(words, 0, 1000), 0, { alsoCalled: ['kl_coef', 'kl_coeff', 'kl_loss_coef', 'init_kl_coef', 'kl_beta'] }),
	);

const clipping = {
	epsilon: live(
		key(real('Lower clip range of the ratio.', 0, 1), 0.2, {
			alsoCalled: ['clip_ratio', 'cliprange', 'clip_range', 'clip_eps', 'eps_clip'],
		}),
	),
	epsilon_high: live(
		key(
			real('Upper clip range of the ratio; with cispo, the maximum ratio; with dppo, the maximum divergence.', 0, 100),
			sameAs('epsilon'),
			{
				alsoCalled: ['clip_ratio_high', 'eps_clip_high'],
			},
		),
	),
};

type Values = Readonly<Record<string, unknown>>;

/** Returns the level of importance ratios, which older recipes set in the `trainer` block. */
const levelOf = ({ importance_sampling_level, trainer }: Values): unknown =>
	importance_sampling_level ?? (trainer as Values | undefined)?.importance_sampling_level ?? 'token';
const luspoNeeds = '"luspo" weights whole sequences: add "importance_sampling_level": "sequence".';
/** Name of the key with the upper clip range, the last one in `clipping`. */
export const upperRange = Object.keys(clipping).at(-1) as keyof typeof clipping;
const cispoNeeds = `With "cispo", "${upperRange}" is the maximum ratio itself. Set it to a value of at least 1, such as 5.`;

/** Restricts a key to loss types that use it. */
const onlyFor = (types: readonly unknown[], words: string): NonNullable<KeyFacts['lacking']> => {
	const lack = {
		when: (_: unknown, { loss_type = 'dapo' }: Values) => !types.includes(loss_type),
		say: `Only used with "loss_type" ${words}. Remove it, or change "loss_type".`,
	};
	return { embedded: lack, pytorch: lack };
};
const sapoOnly = { lacking: onlyFor(['sapo'], '"sapo"') };
const vespoOnly = { lacking: onlyFor(['vespo'], '"vespo"') };

/** Loss types with a fixed level of importance ratios. */
const ownLevel: readonly unknown[] = ['vespo', 'gmpo', 'dppo_tv', 'dppo_kl'] satisfies LossType[];

/** TRL's options for importance ratios and for loss types without clipping. */
const ratioKeys = {
	importance_sampling_level: bareKey(
		choice(
			['token', 'sequence', 'sequence_token'],
			'Importance ratios per token, or per completion as the geometric mean over its tokens: "sequence" is GSPO, "sequence_token" is GSPO-token.',
		),
		{
			or: '`"token"`',
			lacking: {
				embedded: {
					when: (value, { loss_type }) => value !== 'token' && ownLevel.includes(loss_type),
					say: '"vespo" and "gmpo" use their own ratios per completion, and "dppo_tv" and "dppo_kl" use ratios per token. Remove "importance_sampling_level".',
				},
				pytorch: {
					when: (value, { loss_type }) =>
						value === 'sequence_token' || (value === 'sequence' && String(loss_type).startsWith('dppo_')),
					say: 'The PyTorch engine does not support "sequence_token", nor "sequence" with DPPO. Change it, or set "engine": "embedded".',
				},
			},
		},
	),
	delta: bareKey(real('Maximum ratio in the unclipped term of the loss.', 1, 1000), {
		or: 'none',
		lacking: onlyFor(clippingTypes, clippingTypes.join(', ')),
	}),
	// Resolved recipes contain the default, because TRL 1.13 has a different one. Recipes from earlier runs lack it.
	use_bias_correction_kl: key(
		flag('Multiply the KL term by the ratio, so that its gradient is unbiased. TRL 1.13 defaults to true.'),
		(): boolean => false,
		{
			or: '`false`',
			maybe: true,
			lacking: {
				embedded: {
					when: (value, { loss_type }) => value === true && loss_type === 'gmpo',
					say: '"gmpo" has no unbiased KL term. Remove "use_bias_correction_kl".',
				},
			},
		},
	),
	off_policy_mask_threshold: bareKey(
		real(
			'Exclude completions with a negative advantage whose mean log ratio of the old to the current policy exceeds this value.',
			0,
		),
		{ or: 'none' },
	),
	sapo_temperature_pos: bareKey(real('sapo: steepness for positive advantages.', 1e-6, 1000), {
		or: '`1`',
		...sapoOnly,
	}),
	sapo_temperature_neg: bareKey(real('sapo: steepness for negative and zero advantages.', 1e-6, 1000), {
		or: '`1.05`',
		...sapoOnly,
	}),
	vespo_k_pos: bareKey(real('vespo: exponent for nonnegative advantages.', 0, 100), { or: '`2`', ...vespoOnly }),
	vespo_lambda_pos: bareKey(real('vespo: decay for nonnegative advantages.', 0, 100), { or: '`3`', ...vespoOnly }),
	vespo_k_neg: bareKey(real('vespo: exponent for negative advantages.', 0, 100), { or: '`3`', ...vespoOnly }),
	vespo_lambda_neg: bareKey(real('vespo: decay for negative advantages.', 0, 100), { or: '`2`', ...vespoOnly }),
};

/** Declares a combination of values that is invalid with any engine. */
const invalidWhen = (when: NonNullable<Lack['when']>, say: string): NonNullable<KeyFacts['lacking']> => ({
	embedded: { when, say },
	pytorch: { when, say },
});

const noTokens = '"gmpo" has one loss per completion. Remove this key, or choose another "loss_type".';
const perToken = { when: (_: unknown, { loss_type }: Values) => loss_type === 'gmpo', say: noTokens };
const clipCovOnly: NonNullable<KeyFacts['lacking']> = {
	embedded: {
		when: (_, { clip_cov_ratio }) => clip_cov_ratio === undefined,
		say: 'Only used with "clip_cov_ratio". Remove it.',
	},
	pytorch: { when: () => true, say: 'TRL does not support Clip-Cov. Remove it, or set "engine": "embedded".' },
};

const adaptiveOnly = invalidWhen(
	(_, { use_adaptive_entropy }) => use_adaptive_entropy !== true,
	'Only used with "use_adaptive_entropy": true. Remove it.',
);

/** Selection of tokens to train on, and their entropy bonus. */
const tokenKeys = {
	top_entropy_quantile: bareKey(
		real('Fraction of tokens to train on: those with the highest entropy. The KL term applies to all tokens.', 0, 1),
		{ or: '`1`', lacking: { embedded: perToken } },
	),
	clip_cov_ratio: bareKey(
		real(
			'Clip-Cov: fraction of tokens to exclude, chosen at random from those with a high covariance of advantage and log-probability.',
			0,
			1,
		),
		{
			or: 'none',
			lacking: {
				embedded: {
					when: (_, { loss_type = 'dapo' }) => !clippingTypes.includes(loss_type),
					say: `Selects among tokens that are not clipped, so it requires "loss_type" ${clippingTypes.join(', ')}. Remove one of them.`,
				},
				pytorch: clipCovOnly.pytorch as Lack,
			},
		},
	),
	clip_cov_lb: bareKey(real('Clip-Cov: covariance above which tokens can be excluded.', -1000, 1000), {
		or: '`1`',
		lacking: {
			...clipCovOnly,
			embedded: {
				when: (value, { clip_cov_ratio, clip_cov_ub = 5 }) =>
					clip_cov_ratio === undefined || Number(value) >= Number(clip_cov_ub),
				say: 'Only used with "clip_cov_ratio", and must be less than "clip_cov_ub", which is 5 by default. Lower or remove it.',
			},
		},
	}),
	clip_cov_ub: bareKey(real('Clip-Cov: covariance below which tokens can be excluded.', -1000, 1000), {
		or: '`5`',
		lacking: {
			...clipCovOnly,
			embedded: {
				when: (value, { clip_cov_ratio, clip_cov_lb }) =>
					clip_cov_ratio === undefined || (clip_cov_lb === undefined && Number(value) <= 1),
				say: 'Only used with "clip_cov_ratio", and must be greater than "clip_cov_lb", which is 1 by default. Raise or remove it.',
			},
		},
	}),
	kl_cov_ratio: bareKey(
		real(
			'KL-Cov: penalize this fraction of tokens, those with the highest covariance of advantage and log-probability, for diverging from the old policy. Replaces clipping.',
			0,
			1,
		),
		{
			or: 'none',
			lacking: {
				embedded: {
					when: (_, { loss_type = 'dapo', clip_cov_ratio }) =>
						!clippingTypes.includes(loss_type) || clip_cov_ratio !== undefined,
					say: `Replaces clipping, so it requires "loss_type" ${clippingTypes.join(', ')}, without "clip_cov_ratio". Remove one of them.`,
				},
				pytorch: { say: 'TRL does not support KL-Cov. Remove it, or set "engine": "embedded".' },
			},
		},
	),
	kl_cov_coef: bareKey(real('KL-Cov: weight of the penalty, which is the absolute log ratio in nats.', 0, 1000), {
		or: '`1`',
		alsoCalled: ['ppo_kl_coef'],
		lacking: invalidWhen(
			(_, { kl_cov_ratio }) => kl_cov_ratio === undefined,
			'Only used with "kl_cov_ratio". Remove it.',
		),
	}),
	entropy_coef: bareKey(
		real('Weight of the entropy bonus, which is the mean entropy of the trained tokens in nats.', 0, 100),
		{ or: '`0`', alsoCalled: ['entropy_coeff', 'ent_coef'] },
	),
	use_adaptive_entropy: bareKey(
		flag(
			'Raise the weight of the entropy bonus while the entropy is at or below "entropy_target", and lower it otherwise.',
		),
		{
			or: '`false`',
			lacking: {
				pytorch: {
					say: 'The PyTorch engine does not save the weight in checkpoints. Set TRL\'s "use_adaptive_entropy" in "trainer", or set "engine": "embedded".',
				},
			},
		},
	),
	entropy_target: bareKey(real('Entropy per token, in nats, at or below which the adaptive bonus applies.', 0, 100), {
		or: '`0.2`',
		lacking: adaptiveOnly,
	}),
	entropy_coef_delta: bareKey(real('Change in the adaptive weight per update.', 0, 100), {
		or: '`0.005`',
		lacking: adaptiveOnly,
	}),
	world_model_coeff: bareKey(
		real(
			'ECHO: weight of the mean cross-entropy, in nats, of tokens written by the environment. The paper uses 0.05.',
			0,
			100,
		),
		{
			or: '`0`',
			lacking: {
				pytorch: {
					when: (value) => value !== 0,
					say: 'TRL does not train on tokens written by environments. Remove "world_model_coeff", or set "engine": "embedded".',
				},
			},
		},
	),
	entropy_coef_min: bareKey(real('Smallest adaptive weight.', 0, 100), {
		or: '`0`',
		lacking: invalidWhen(
			(value, { use_adaptive_entropy, entropy_coef_max = 1 }) =>
				use_adaptive_entropy !== true || Number(value) > Number(entropy_coef_max),
			'Only used with "use_adaptive_entropy": true, and at most "entropy_coef_max", which is 1 by default. Lower or remove it.',
		),
	}),
	entropy_coef_max: bareKey(real('Largest adaptive weight.', 0, 100), { or: '`1`', lacking: adaptiveOnly }),
};

/** Keys and values that need one advantage per completion. */
function sharesAdvantage(credit: unknown, stage: Values): boolean {
	const { advantage_estimator = 'grpo', multi_objective_aggregation, loss_type } = stage;
	if (credit !== 'turn') return false;
	if (advantage_estimator !== 'grpo' || multi_objective_aggregation === 'normalize_then_sum') return true;
	if (loss_type === 'gmpo' || loss_type === 'vespo') return true;
	// Liger's fused loss takes one advantage per completion.
	if ((stage.trainer as Values | undefined)?.use_liger_kernel === true) return true;
	return ['off_policy_mask_threshold', 'clip_cov_ratio', 'kl_cov_ratio'].some((key) => stage[key] !== undefined);
}
const ownAdvantage =
	'Turns cannot have their own advantages with "maxrl", "pass_at_k", "normalize_then_sum", "gmpo", "vespo", "off_policy_mask_threshold", "clip_cov_ratio", "kl_cov_ratio" or "use_liger_kernel". Remove one of them.';

/** How advantages are computed. */
const advantageKeys = {
	advantage_estimator: bareKey(
		choice(
			advantageEstimators,
			'"grpo": differences from the group mean. "maxrl": the same, divided by the group mean, so that rarely solved problems count more. "pass_at_k": computed for the best of `pass_k` completions.',
		),
		{ or: '`"grpo"`', alsoCalled: ['adv_estimator'] },
	),
	pass_k: bareKey(count('pass_at_k: number of completions per set, of which only the best counts.', 1, 1024), {
		or: '`4`',
		lacking: invalidWhen(
			(value, { advantage_estimator, num_generations = 8 }) =>
				advantage_estimator !== 'pass_at_k' || Number(value) > Number(num_generations),
			'Only used with "advantage_estimator": "pass_at_k", and at most "num_generations". Lower or remove it.',
		),
	}),
	multi_objective_aggregation: bareKey(
		choice(
			rewardAggregations,
			'"sum_then_normalize": advantages of the weighted sum. "normalize_then_sum": each reward is normalized within its group first (GDPO).',
		),
		{
			or: '`"sum_then_normalize"`',
			lacking: invalidWhen(
				(value, { advantage_estimator = 'grpo' }) => value === 'normalize_then_sum' && advantage_estimator !== 'grpo',
				'"normalize_then_sum" requires "advantage_estimator": "grpo". Remove one of them.',
			),
		},
	),
	credit_assignment: bareKey(
		choice(
			creditAssignments,
			'With an environment: "episode": all tokens in an episode share its advantage. "turn": each turn has its own advantage, computed from its return (the reward from that turn onward) compared with the returns of the same turn in the other episodes.',
		),
		{
			or: '`"episode"`',
			lacking: invalidWhen(sharesAdvantage, ownAdvantage),
		},
	),
};

const scale_rewards = key(choice(rewardScales, 'Standard deviation by which advantages are divided.'), 'group', {
	lacking: invalidWhen(
		(_, { advantage_estimator = 'grpo', multi_objective_aggregation }) =>
			advantage_estimator !== 'grpo' || multi_objective_aggregation === 'normalize_then_sum',
		'"scale_rewards" has no effect with "maxrl", "pass_at_k" or "normalize_then_sum", which use their own divisor. Remove it.',
	),
});

/** Keys without a counterpart in verl. */
export const ownLossKeys = Object.keys({ ...ratioKeys, ...samplerKeys, ...tokenKeys, ...advantageKeys }) as (
	| keyof typeof ratioKeys
	| keyof typeof samplerKeys
	| keyof typeof tokenKeys
	| keyof typeof advantageKeys
)[];

const mask_truncated_completions = key(flag('Exclude truncated completions from the loss.'), false);

export const grpoStageSchema = stageOf('grpo', 'Group relative policy optimization.', {
	...groups,
	beta: beta('Weight of the KL term. 0 skips the reference forward pass.'),
	...clipping,
	loss_type: key(choice(lossTypes, 'Per-token loss, and how losses are averaged. TRL also defaults to dapo.'), 'dapo', {
		lacking: {
			embedded: {
				when: (value, stage) =>
					(value === 'luspo' && levelOf(stage) !== 'sequence') ||
					(value === 'cispo' && !(Number(stage[upperRange]) >= 1)),
				say: (value) => (value === 'luspo' ? luspoNeeds : cispoNeeds),
			},
			pytorch: {
				when: (value, stage) => value === 'luspo' && levelOf(stage) !== 'sequence',
				say: luspoNeeds,
			},
		},
	}),
	...ratioKeys,
	...samplerKeys,
	...tokenKeys,
	...advantageKeys,
	scale_rewards,
	mask_truncated_completions,
	dynamic_sampling: key(flag('Resample groups in which all rewards are equal (DAPO).'), false, {
		lacking: {
			pytorch: { say: 'TRL does not support "dynamic_sampling". Remove it, or set "engine": "embedded".' },
		},
	}),
	max_resamples: key(count('dynamic_sampling: maximum number of additional generation batches.', 1, 64), 3, {
		lacking: {
			pytorch: {
				when: (_, { dynamic_sampling }) => dynamic_sampling !== true,
				say: '"max_resamples" requires "dynamic_sampling", which TRL does not support. Remove it.',
			},
		},
	}),
	skip_dead_groups: key(
		flag('Skip zero-advantage groups in the update when this does not change the result.'), // TRL computes every row.
		({ embedded }): boolean => embedded,
		{
			or: 'true',
			lacking: {
				pytorch: {
					say: 'TRL always processes zero-advantage groups. Remove "skip_dead_groups", or set "engine": "embedded".',
				},
			},
		},
	),
	control: key(
		choice(['shuffle'], 'Control experiment: shuffles advantages across the batch, so nothing can be learned.'),
		null,
		{
			lacking: {
				pytorch: {
					say: 'TRL cannot shuffle advantages. Remove "control", or run the experiment with "engine": "embedded".',
				},
			},
		},
	),
});

export const rlooStageSchema = stageOf('rloo', 'REINFORCE with a leave-one-out baseline (Ahmadian et al. 2024).', {
	...groups,
	beta: beta('Weight of the KL term in the reward.'),
	...clipping,
	mask_truncated_completions,
});
