import type { ClipRange } from '../../../core/grpo/objective/clipped.ts';
import type { ResolvedGrpoStage, ResolvedRlooStage } from '../../../core/recipe/resolvedRecipe.ts';
import type { RatioSettings } from '../learner.ts';

/** Returns a stage's clip bounds for the importance ratio. */
export const clipBounds = (stage: ResolvedGrpoStage | ResolvedRlooStage): ClipRange => ({
	epsilonLow: stage.epsilon,
	epsilonHigh: stage.epsilon_high,
});

/** Returns the clip bounds, and the temperature at which the ratio is computed. */
export const clipRange = (stage: ResolvedRlooStage): RatioSettings => ({
	...clipBounds(stage),
	temperature: stage.temperature,
});
