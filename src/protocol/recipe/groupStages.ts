import { choice, count, flag, real } from './recipeFields.ts';
import { key, live, sameAs, stageOf } from './recipeKey.ts';
import { batches, generations, optimizer, scoredSampling } from './stageFields.ts';

/**
 * Stages that compare a completion's reward with those of the other completions in its group, which share the same
 * prompt.
 */

/** The embedded engine supports the first four. */
export const lossTypes = ['grpo', 'bnpo', 'dr_grpo', 'dapo', 'cispo', 'sapo', 'luspo', 'vespo'] as const;
export type LossType = (typeof lossTypes)[number];
export const embeddedLossTypes = ['grpo', 'bnpo', 'dr_grpo', 'dapo'] as const satisfies readonly LossType[];
export type EmbeddedLossType = (typeof embeddedLossTypes)[number];

/** What advantages are divided by: a standard deviation of rewards, or nothing. */
export const rewardScales = ['group', 'batch', 'none'] as const;
export type ScaleRewards = (typeof rewardScales)[number];

const groups = {
	...optimizer,
	num_generations: generations('Completions per prompt, G.', 2, 8),
	...batches,
	...scoredSampling,
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
		key(real('Upper clip range of the ratio.', 0, 100), sameAs('epsilon'), {
			alsoCalled: ['clip_ratio_high', 'eps_clip_high'],
		}),
	),
};

const mask_truncated_completions = key(flag('Exclude truncated completions from the loss.'), false);

export const grpoStageSchema = stageOf('grpo', 'Group relative policy optimization.', {
	...groups,
	beta: beta('Weight of the KL term. 0 skips the forward pass of the reference.'),
	...clipping,
	loss_type: key(choice(lossTypes, 'How to average token losses. TRL also defaults to dapo.'), 'dapo', {
		lacking: {
			embedded: {
				when: (value) => !(embeddedLossTypes as readonly unknown[]).includes(value),
				say: (value) =>
					`The embedded engine does not support "loss_type" "${value}". Choose one of ${embeddedLossTypes.join(', ')}, or set "engine": "pytorch".`,
			},
			pytorch: {
				when: (value, { trainer }) =>
					value === 'luspo' &&
					(trainer as { importance_sampling_level?: unknown } | undefined)?.importance_sampling_level !== 'sequence',
				say: '"luspo" weights whole sequences: add "trainer": { "importance_sampling_level": "sequence" }.',
			},
		},
	}),
	scale_rewards: key(choice(rewardScales, 'Standard deviation by which advantages are divided.'), 'group'),
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
