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

/** Returns a stage's `trainer` block. */
export const trainerOf = ({ trainer }: Values): Values => (trainer ?? {}) as Values;

/** Returns the level of importance ratios, which older recipes set in the `trainer` block. */
export const levelOf = (stage: Values): unknown =>
	stage.importance_sampling_level ?? trainerOf(stage).importance_sampling_level ?? 'token';

/** Whether TRL's `trainer` block selects the fused loss of the Liger kernels. */
export const usesLiger = (stage: Values): boolean => trainerOf(stage).use_liger_kernel === true;

/** Whether another trainer of TRL than GRPOTrainer computes the loss. These ignore several options of GRPOTrainer. */
export const hasOwnTrainer = (stage: Values): boolean =>
	stage.loss_type === 'gmpo' || levelOf(stage) === 'sequence_token';

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
	when: (value, stage) => value !== off && hasOwnTrainer(stage),
	say: `TRL ignores "${key}" with "gmpo" and "sequence_token". Remove it, or set "engine": "embedded".`,
});
