import type { KeyFacts, Lack } from './recipeKey.ts';

/** Loss types of `grpo` stages, and which keys apply to them. */

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
export const clippingTypes: readonly unknown[] = ['grpo', 'bnpo', 'dr_grpo', 'dapo', 'luspo'] satisfies LossType[];

export type Values = Readonly<Record<string, unknown>>;

/** Returns the level of importance ratios, which older recipes set in the `trainer` block. */
export const levelOf = ({ importance_sampling_level, trainer }: Values): unknown =>
	importance_sampling_level ?? (trainer as Values | undefined)?.importance_sampling_level ?? 'token';

/** Whether TRL's `trainer` block selects the fused loss of the Liger kernels. */
export const usesLiger = ({ trainer }: Values): boolean => (trainer as Values | undefined)?.use_liger_kernel === true;

/**
 * Returns which of TRL's other trainers computes a stage's loss, or undefined if GRPOTrainer does. They ignore several
 * options of GRPOTrainer.
 */
export function ownTrainer(stage: Values): 'GMPO' | 'GSPO-token' | undefined {
	if (stage.loss_type === 'gmpo') return 'GMPO';
	return levelOf(stage) === 'sequence_token' ? 'GSPO-token' : undefined;
}

/** Declares a combination of values that is invalid with any engine. */
export const invalidWhen = (when: NonNullable<Lack['when']>, say: string) =>
	({ embedded: { when, say }, pytorch: { when, say } }) as const satisfies KeyFacts['lacking'];

/** Restricts a key to loss types that use it. */
export const onlyFor = (types: readonly unknown[], words: string) =>
	invalidWhen(
		(_, { loss_type = 'dapo' }) => !types.includes(loss_type),
		`Only used with "loss_type" ${words}. Remove it, or change "loss_type".`,
	);

/** Declares that TRL's own trainers for some losses ignore a key. `off`: value without effect. */
export const ignoredByOwnTrainer = (key: string, off?: unknown): Lack => ({
	when: (value, stage) => value !== off && ownTrainer(stage) !== undefined,
	say: `TRL ignores "${key}" with "gmpo" and "sequence_token". Remove it, or set "engine": "embedded".`,
});
