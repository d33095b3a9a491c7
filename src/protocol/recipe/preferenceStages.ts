import { real } from './recipeFields.ts';
import { key, live, stageOf } from './recipeKey.ts';
import { batchSize, pairsSchema, updates } from './stageFields.ts';

/** Keys shared by stages that learn from preference pairs. */

const pairs = { ...updates, pairs: pairsSchema, batch_size: batchSize('Pairs per update.') };

export const dpoStageSchema = stageOf('dpo', 'Direct preference optimization on pairs (Rafailov et al. 2023).', {
	...pairs,
	beta: live(
		key(real('Strength of the pull toward the reference; larger values keep the policy closer.', 0, 1000), 0.1),
	),
});

export const rewardModelStageSchema = stageOf('reward-model', 'Reward model trained on pairs (Bradley-Terry).', pairs);
