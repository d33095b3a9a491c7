import type { ResolvedRecipe } from '../../../core/recipe/resolvedRecipe.ts';
import type { SampleDetail } from '../learner.ts';

/**
 * Returns what sampling must record for the recipe's rewards besides entropies: nothing, or per-token statistics.
 */
export function samplingDetail({ rewards }: Pick<ResolvedRecipe, 'rewards'>): { readonly detail?: SampleDetail } {
	const needed = rewards.some((reward) => 'use' in reward && reward.use === 'self-certainty');
	return needed ? { detail: { alternatives: 0 } } : {};
}
