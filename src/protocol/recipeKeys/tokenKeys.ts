import { clippingTypes, hasOwnTrainer, invalidWhen, usesLiger, type Values } from './lossTypes.ts';
import { flag, real } from './recipeFields.ts';
import { bareKey, type KeyFacts, type Lack, lackOf } from './recipeKey.ts';

const noTokens = '"gmpo" has one loss per completion. Remove this key, or choose another "loss_type".';
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

function aboveMaximum(value: unknown, { use_adaptive_entropy, entropy_coef_max = 1 }: Values): string | undefined {
	if (use_adaptive_entropy !== true || Number(value) <= Number(entropy_coef_max)) return undefined;
	return 'The adaptive weight starts at "entropy_coef", so it must be at most "entropy_coef_max", which is 1 by default. Lower it.';
}

const bonusSummary = {
	embedded: 'With "use_adaptive_entropy", at most "entropy_coef_max".',
	pytorch: 'TRL has no entropy bonus with "gmpo", "sequence_token" and "use_liger_kernel".',
};

/** Returns why TRL does not add the entropy bonus to a stage's loss, or undefined if it does. */
function noBonus(stage: Values): string | undefined {
	if (usesLiger(stage)) return 'The Liger kernels have no entropy bonus. Remove it, or "use_liger_kernel".';
	if (!hasOwnTrainer(stage)) return undefined;
	return 'TRL ignores the entropy bonus with "gmpo" and "sequence_token". Remove it, or set "engine": "embedded".';
}

/** Selection of tokens to train on, and their entropy bonus. */
export const tokenKeys = {
	top_entropy_quantile: bareKey(
		real('Fraction of tokens to train on: those with the highest entropy. The KL term applies to all tokens.', 0, 1),
		{
			or: '`1`',
			lacking: {
				embedded: { when: (value, { loss_type }) => value !== 1 && loss_type === 'gmpo', say: noTokens },
			},
		},
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
		{
			or: '`0`',
			alsoCalled: ['entropy_coeff', 'ent_coef'],
			lacking: {
				embedded: lackOf(aboveMaximum, bonusSummary.embedded),
				pytorch: lackOf(
					(value, stage) => (value === 0 ? undefined : (noBonus(stage) ?? aboveMaximum(value, stage))),
					bonusSummary.pytorch,
				),
			},
		},
	),
	use_adaptive_entropy: bareKey(
		flag(
			'Raise the weight of the entropy bonus while the entropy is at or below "entropy_target", and lower it otherwise.',
		),
		{
			or: '`false`',
			lacking: {
				pytorch: lackOf((value, stage) => (value === true ? noBonus(stage) : undefined), bonusSummary.pytorch),
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
