import { clippingTypes, ignoredByOwnTrainer, type LossType, onlyFor, usesLiger } from './lossTypes.ts';
import { choice, flag, real } from './recipeFields.ts';
import { bareKey, key } from './recipeKey.ts';

const sapoOnly = { lacking: onlyFor(['sapo'], '"sapo"') };
const vespoOnly = { lacking: onlyFor(['vespo'], '"vespo"') };

/** Loss types with a fixed level of importance ratios. */
const ownLevel: readonly unknown[] = ['vespo', 'gmpo', 'dppo_tv', 'dppo_kl'] satisfies LossType[];
const ownLevelSay =
	'"vespo" and "gmpo" use their own ratios per completion, and "dppo_tv" and "dppo_kl" use ratios per token. Remove "importance_sampling_level".';

/** Loss types of TRL's trainer for GSPO-token. */
const tokenLevel: readonly unknown[] = ['grpo', 'bnpo', 'dr_grpo', 'dapo'] satisfies LossType[];

/** TRL's options for importance ratios and for loss types without clipping. */
export const ratioKeys = {
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
					say: ownLevelSay,
				},
				pytorch: {
					when: (value, { loss_type = 'dapo', ...stage }) =>
						(value !== 'token' && ownLevel.includes(loss_type)) ||
						(value === 'sequence_token' && (!tokenLevel.includes(loss_type) || usesLiger(stage))),
					say: (value) =>
						value === 'sequence_token'
							? `TRL supports "sequence_token" only with "loss_type" ${tokenLevel.join(', ')}, and without "use_liger_kernel". Change one of them, or set "engine": "embedded".`
							: ownLevelSay,
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
				pytorch: ignoredByOwnTrainer('use_bias_correction_kl', false),
			},
		},
	),
	off_policy_mask_threshold: bareKey(
		real(
			'Exclude completions with a negative advantage whose mean log ratio of the old to the current policy exceeds this value.',
			0,
		),
		{ or: 'none', lacking: { pytorch: ignoredByOwnTrainer('off_policy_mask_threshold') } },
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
