import type { ResolvedGrpoStage, ResolvedRlooStage } from '../../../core/recipe/resolvedRecipe.ts';
import type { RatioSettings } from '../learner.ts';

/** How far the importance ratio of a stage may leave 1 before it is clipped, and the temperature it is taken at. */
export const clipRange = (stage: ResolvedGrpoStage | ResolvedRlooStage): RatioSettings => ({
	epsilonLow: stage.epsilon,
	epsilonHigh: stage.epsilon_high,
	temperature: stage.temperature,
});
