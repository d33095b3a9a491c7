import { curriculumKeys } from './curriculumKeys.ts';
import { invalidWhen, levelOf, lossTypes, usesLiger, type Values } from './lossTypes.ts';
import { proposalKeys } from './proposalKeys.ts';
import { ratioKeys } from './ratioKeys.ts';
import { choice, count, flag, real } from './recipeFields.ts';
import { bareKey, key, lackOf, live, sameAs, stageOf } from './recipeKey.ts';
import { samplerKeys } from './samplerKeys.ts';
import { batches, generations, optimizer, scoredSampling } from './stageFields.ts';
import { tokenKeys } from './tokenKeys.ts';

/** Stages that compare a completion's reward with the rewards of the other completions in its group (same prompt). */

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

/** Name of the key with the upper clip range, the last one in `clipping`. */
export const upperRange = Object.keys(clipping).at(-1) as keyof typeof clipping;
const luspoNeeds = '"luspo" weights whole sequences: add "importance_sampling_level": "sequence".';
const cispoNeeds = `With "cispo", "${upperRange}" is the maximum ratio itself. Set it to a value of at least 1, such as 5.`;

const lossSummary = `"luspo" requires "importance_sampling_level": "sequence", and "cispo" requires "${upperRange}" of at least 1.`;

/** Returns what a loss type needs from other keys of its stage, or undefined if they have it. */
function lossNeeds(type: unknown, stage: Values): string | undefined {
	if (type === 'luspo' && levelOf(stage) !== 'sequence') return luspoNeeds;
	return type === 'cispo' && !(Number(stage[upperRange]) >= 1) ? cispoNeeds : undefined;
}

/** Like `lossNeeds`, but accepts "cispo" without a clip range, as earlier versions did: the trainer reports it. */
const torchLossNeeds = (type: unknown, stage: Values): string | undefined =>
	type === 'cispo' && stage[upperRange] === undefined ? undefined : lossNeeds(type, stage);

/** Returns why TRL would compute another loss: its fused one takes precedence. */
function notFused(type: unknown, stage: Values): string | undefined {
	if (!usesLiger(stage) || (type !== 'gmpo' && type !== 'dppo_tv' && type !== 'dppo_kl')) return undefined;
	return `The Liger kernels do not compute "${type}". Remove "use_liger_kernel", or choose another "loss_type".`;
}

/** Keys and values that need one advantage per completion. */
function sharesAdvantage(credit: unknown, stage: Values): boolean {
	const { advantage_estimator = 'grpo', multi_objective_aggregation, loss_type } = stage;
	if (credit !== 'turn') return false;
	if (advantage_estimator !== 'grpo' || multi_objective_aggregation === 'normalize_then_sum') return true;
	if (loss_type === 'gmpo' || loss_type === 'vespo') return true;
	// Liger's fused loss takes one advantage per completion.
	if (usesLiger(stage)) return true;
	return ['off_policy_mask_threshold', 'clip_cov_ratio', 'kl_cov_ratio'].some((key) => stage[key] !== undefined);
}
const ownAdvantage =
	'Turns cannot have their own advantages with "maxrl", "pass_at_k", "normalize_then_sum", "gmpo", "vespo", "off_policy_mask_threshold", "clip_cov_ratio", "kl_cov_ratio" or "use_liger_kernel". Remove one of them.';

/** How advantages are computed. */
export const advantageKeys = {
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
			embedded: lackOf(lossNeeds, lossSummary),
			pytorch: lackOf((value, stage) => torchLossNeeds(value, stage) ?? notFused(value, stage), lossSummary),
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
