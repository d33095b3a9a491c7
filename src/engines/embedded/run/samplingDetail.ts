import type { ResolvedRecipe } from '../../../core/recipe/resolvedRecipe.ts';
import type { SampleDetail } from '../learner.ts';

/**
 * Returns what sampling must record for the recipe's rewards in addition to entropies: nothing, or statistics per
 * token.
 */
export function samplingDetail({ rewards }: Pick<ResolvedRecipe, 'rewards'>): { readonly detail?: SampleDetail } {
	const needed = rewards.some((reward) => 'use' in reward && reward.use === 'self-certainty');
	return needed ? { detail: { alternatives: 0 } } : {};
}
