import { Failure } from '../base/failure.ts';
import type { ResolvedReward } from '../core/recipe/resolvedRecipe.ts';
import type { Verifier } from '../core/reward/accuracyReward.ts';
import { createBuiltInScorer } from '../core/reward/builtInScorer.ts';
import type { TraceTags } from '../core/trace/trace.ts';
import type { Scorer } from '../protocol/scorer.ts';

/**
 * The scorers of a recipe's rewards, in their order.
 *
 * @param verify the dataset's verifier
 * @throws `unsupported` for a reward file
 */
export function createScorers(rewards: readonly ResolvedReward[], tags: TraceTags, verify: Verifier): Scorer[] {
	return rewards.map((reward) => {
		if ('use' in reward && (reward.use === 'accuracy' || reward.use === 'format'))
			return createBuiltInScorer(reward.use, { name: reward.name, weight: reward.weight, tags, verify });
		throw new Failure(
			'unsupported',
			`The reward ${'use' in reward ? `"${reward.use}"` : `file ${reward.file}`} cannot be used yet: this version trains with accuracy and format only.`,
			'Use {"use": "accuracy"} or {"use": "format"} in the recipe.',
		);
	});
}
