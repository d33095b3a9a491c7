import type {
	AdvantageEstimator,
	CreditAssignment,
	RewardAggregation,
	ScaleRewards,
} from '../../../protocol/recipeKeys/groupStages.ts';

/** How advantages are computed. */
export interface AdvantageSettings {
	readonly estimator: AdvantageEstimator;
	readonly aggregation: RewardAggregation;
	readonly scale: ScaleRewards;
	/** Completions per set, for `pass_at_k`. */
	readonly passK: number;
}

/** The recipe keys of a stage that determine its advantages. */
export interface AdvantageKeys {
	readonly num_generations?: number | undefined;
	readonly advantage_estimator?: AdvantageEstimator | undefined;
	readonly pass_k?: number | undefined;
	readonly multi_objective_aggregation?: RewardAggregation | undefined;
	readonly scale_rewards?: ScaleRewards | undefined;
	readonly credit_assignment?: CreditAssignment | undefined;
}

/** Returns the settings of a stage, with defaults for missing keys. */
export const advantageSettings = (stage: AdvantageKeys): AdvantageSettings => ({
	estimator: stage.advantage_estimator ?? 'grpo',
	aggregation: stage.multi_objective_aggregation ?? 'sum_then_normalize',
	scale: stage.scale_rewards ?? 'group',
	passK: stage.pass_k ?? Math.min(4, stage.num_generations ?? 4),
});

/** One-word names for the divisor of advantages, used in explanations. */
export const advantageKinds = ['group', 'batch', 'none', 'maxrl', 'pass_at_k', 'gdpo'] as const;
export type AdvantageKind = (typeof advantageKinds)[number];

/** @param stage a recorded stage, whose values may be unknown */
export function advantageKind(stage: {
	readonly advantage_estimator?: string | undefined;
	readonly multi_objective_aggregation?: string | undefined;
	readonly scale_rewards?: string | undefined;
}): AdvantageKind | null {
	const { advantage_estimator: estimator = 'grpo', multi_objective_aggregation: aggregation } = stage;
	const name = estimator !== 'grpo' ? estimator : aggregation === 'normalize_then_sum' ? 'gdpo' : stage.scale_rewards;
	return advantageKinds.find((known) => known === name) ?? null;
}
