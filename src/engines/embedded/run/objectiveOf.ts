import { type Objective, sapoDefaults, vespoDefaults } from '../../../core/grpo/objective/objective.ts';
import { correctionDefaults, type SamplerCorrection } from '../../../core/grpo/objective/samplerCorrection.ts';
import type { ResolvedGrpoStage } from '../../../core/recipe/resolvedRecipe.ts';
import { clipBounds } from './clipRange.ts';

/** Clip bound too large for any ratio to reach. */
const unlimited = 1e9;

/**
 * Returns how a stage corrects for differences from the sampling policy. Without stale weights, it does so only if the
 * recipe asks for it.
 */
function correctionOf(stage: ResolvedGrpoStage): SamplerCorrection | null {
	if (!(stage.vllm_importance_sampling_correction ?? (stage.max_staleness ?? 0) > 0)) return null;
	// VESPO's weight is already per completion, so it uses only per-token ratios.
	const usual = stage.loss_type === 'vespo' ? 'token_truncate' : correctionDefaults.mode;
	return {
		mode: stage.vllm_importance_sampling_mode ?? usual,
		min: stage.vllm_importance_sampling_clip_min ?? correctionDefaults.min,
		max: stage.vllm_importance_sampling_clip_max ?? correctionDefaults.max,
	};
}

/** Returns the loss settings for a stage, with TRL's defaults for unset keys. */
export const objectiveOf = (stage: ResolvedGrpoStage): Objective => ({
	lossType: stage.loss_type,
	level: stage.importance_sampling_level ?? 'token',
	// KL-Cov replaces clipping.
	...(stage.kl_cov_ratio === undefined ? clipBounds(stage) : { epsilonLow: unlimited, epsilonHigh: unlimited }),
	beta: stage.beta,
	delta: stage.delta ?? null,
	unbiasedKl: stage.use_bias_correction_kl ?? false,
	offPolicyThreshold: stage.off_policy_mask_threshold ?? null,
	samplerCorrection: correctionOf(stage),
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
