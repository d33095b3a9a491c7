import type { Values } from './lossTypes.ts';
import { choice, count, flag, real } from './recipeFields.ts';
import { bareKey, type KeyFacts, type Lack, lackOf } from './recipeKey.ts';

/** How ratios are kept within bounds, and whether they are per token or per completion. */
export const correctionModes = ['token_truncate', 'token_mask', 'sequence_truncate', 'sequence_mask'] as const;
export type CorrectionMode = (typeof correctionModes)[number];

const correctionOff = ({ vllm_importance_sampling_correction: correct, max_staleness = 0 }: Values): boolean =>
	!(correct ?? Number(max_staleness) > 0);
const correctedSay = 'Only used with "vllm_importance_sampling_correction": true. Remove it.';
const correctedOnly: Lack = { when: (_, stage) => correctionOff(stage), say: correctedSay };
const gmpoIgnores =
	'TRL does not correct "gmpo" for the sampling policy. Remove this key, choose another loss, or set "engine": "embedded".';

/** Returns why the PyTorch engine does not use a stage's settings for the correction, or undefined if it does. */
function torchIgnores({ vllm_importance_sampling_correction: correct, loss_type }: Values): string | undefined {
	if (loss_type === 'gmpo') return gmpoIgnores;
	return correct === false ? correctedSay : undefined;
}

const correctedInBoth: NonNullable<KeyFacts['lacking']> = {
	embedded: correctedOnly,
	pytorch: lackOf((_, stage) => torchIgnores(stage), gmpoIgnores),
};
const perCompletionModes: readonly unknown[] = ['sequence_truncate', 'sequence_mask'] satisfies CorrectionMode[];

/** Returns what is wrong with a mode in the PyTorch engine, or undefined. */
function modeNeeds(mode: unknown, stage: Values): string | undefined {
	const ignored = torchIgnores(stage);
	if (ignored !== undefined || stage.loss_type !== 'vespo' || !perCompletionModes.includes(mode)) return ignored;
	return '"vespo" uses ratios per token. Remove it, or set it to "token_truncate" or "token_mask".';
}

const wholeBatches: Lack = {
	when: (value, { steps_per_generation = 1, num_iterations = 1 }) =>
		value !== 0 && Number(value) < Number(steps_per_generation) * Number(num_iterations),
	say: 'Batches are sampled as a whole, so "max_staleness" must be at least the number of updates per batch, "steps_per_generation" x "num_iterations". Raise it, or set it to 0.',
};

/** Sampling with older weights or another engine, and the correction for the difference. */
export const samplerKeys = {
	max_staleness: bareKey(
		count(
			'Sample while training: maximum number of updates between the weights that sampled a batch and the first update on it. 0 alternates between sampling and training.',
			0,
			1024,
		),
		{
			or: '`0`',
			lacking: { embedded: wholeBatches, pytorch: wholeBatches },
		},
	),
	vllm_importance_sampling_correction: bareKey(
		flag(
			'Multiply the loss by the probability ratio of the policy to the sampling policy, because stale weights or vLLM make them differ. The embedded engine does this without vLLM.',
		),
		{
			or: '`true` with `max_staleness` above 0 or with vLLM',
			lacking: { pytorch: lackOf((value, stage) => (value === true ? torchIgnores(stage) : undefined), gmpoIgnores) },
		},
	),
	vllm_importance_sampling_mode: bareKey(
		choice(
			correctionModes,
			'Ratios per token or per completion, clipped to their bounds ("truncate", TIS), or excluded if out of bounds ("mask"; "token_mask" with two bounds is IcePop).',
		),
		{
			or: '`"sequence_mask"`; with vespo `"token_truncate"`',
			lacking: {
				embedded: {
					when: (value, stage) =>
						correctionOff(stage) ||
						(stage.loss_type === 'vespo' && perCompletionModes.includes(value)) ||
						(stage.loss_type === 'gmpo' && !perCompletionModes.includes(value)),
					say: 'Requires "vllm_importance_sampling_correction": true; "vespo" uses ratios per token, and "gmpo" uses ratios per completion. Remove or change it.',
				},
				pytorch: lackOf(modeNeeds, gmpoIgnores),
			},
		},
	),
	vllm_importance_sampling_clip_max: bareKey(real('Upper bound on these ratios.', 0, 1e6), {
		or: '`3`',
		alsoCalled: ['tis_imp_ratio_cap', 'vllm_importance_sampling_cap'],
		lacking: correctedInBoth,
	}),
	vllm_importance_sampling_clip_min: bareKey(real('Lower bound on these ratios.', 0, 1e6), {
		or: 'none',
		lacking: {
			embedded: {
				when: (value, stage) =>
					correctionOff(stage) || Number(value) >= Number(stage.vllm_importance_sampling_clip_max ?? 3),
				say: 'Requires "vllm_importance_sampling_correction": true, and must be less than "vllm_importance_sampling_clip_max", which is 3 by default. Lower or remove it.',
			},
			pytorch: {
				when: (value, { vllm_importance_sampling_clip_max: max = 3, ...stage }) =>
					torchIgnores(stage) !== undefined || Number(value) >= Number(max),
				say: (_, stage) =>
					torchIgnores(stage) ??
					'Must be less than "vllm_importance_sampling_clip_max", which is 3 by default. Lower or remove it.',
			},
		},
	}),
};
