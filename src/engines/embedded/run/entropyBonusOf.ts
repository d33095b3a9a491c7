import { type AdaptiveEntropy, adaptiveDefaults } from '../../../core/grpo/entropyBonus.ts';
import type { ResolvedGrpoStage } from '../../../core/recipe/resolvedRecipe.ts';

/** Returns how the entropy bonus adapts, or null if its weight is fixed. */
export const adaptiveOf = (stage: ResolvedGrpoStage): AdaptiveEntropy | null =>
	stage.use_adaptive_entropy === true
		? {
				target: stage.entropy_target ?? adaptiveDefaults.target,
				delta: stage.entropy_coef_delta ?? adaptiveDefaults.delta,
				lowest: stage.entropy_coef_min ?? adaptiveDefaults.lowest,
				highest: stage.entropy_coef_max ?? adaptiveDefaults.highest,
			}
		: null;

/** Returns whether the loss of a stage can include an entropy bonus. */
export const hasEntropyBonus = (stage: ResolvedGrpoStage): boolean =>
	(stage.entropy_coef ?? 0) > 0 || stage.use_adaptive_entropy === true;
