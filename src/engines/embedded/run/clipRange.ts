import type { ResolvedGrpoStage, ResolvedRlooStage } from '../../../core/recipe/resolvedRecipe.ts';
import type { RatioSettings } from '../learner.ts';

/** Returns a stage's clip bounds for the importance ratio, and the temperature at which the ratio is computed. */
export const clipRange = (stage: ResolvedGrpoStage | ResolvedRlooStage): RatioSettings => ({
	epsilonLow: stage.epsilon,
	epsilonHigh: stage.epsilon_high,
	temperature: stage.temperature,
});
