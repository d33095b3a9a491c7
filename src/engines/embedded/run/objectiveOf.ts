import { type Objective, sapoDefaults, vespoDefaults } from '../../../core/grpo/objective/objective.ts';
import type { ResolvedGrpoStage } from '../../../core/recipe/resolvedRecipe.ts';
import { clipBounds } from './clipRange.ts';

/** Distance from 1 that no ratio reaches. */
const unlimited = 1e9;

/** Returns the loss settings for a stage, with TRL's defaults for keys that it does not set. */
export const objectiveOf = (stage: ResolvedGrpoStage): Objective => ({
	lossType: stage.loss_type,
	level: stage.importance_sampling_level ?? 'token',
	// KL-Cov replaces clipping.
	...(stage.kl_cov_ratio === undefined ? clipBounds(stage) : { epsilonLow: unlimited, epsilonHigh: unlimited }),
	beta: stage.beta,
	delta: stage.delta ?? null,
	unbiasedKl: stage.use_bias_correction_kl ?? false,
	offPolicyThreshold: stage.off_policy_mask_threshold ?? null,
	sapo: {
		positive: stage.sapo_temperature_pos ?? sapoDefaults.positive,
		negative: stage.sapo_temperature_neg ?? sapoDefaults.negative,
	},
	vespo: {
		kPositive: stage.vespo_k_pos ?? vespoDefaults.kPositive,
		lambdaPositive: stage.vespo_lambda_pos ?? vespoDefaults.lambdaPositive,
		kNegative: stage.vespo_k_neg ?? vespoDefaults.kNegative,
		lambdaNegative: stage.vespo_lambda_neg ?? vespoDefaults.lambdaNegative,
	},
});
