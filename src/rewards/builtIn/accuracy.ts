import { createTask } from '../../core/dataset/createTask.ts';
import { accuracyOf, type Verifier } from '../../core/reward/accuracyReward.ts';
import type { RewardSample } from '../../core/reward/rewardSample.ts';
import type { TaskDataset } from '../../protocol/recipeKeys/recipe.ts';
import type { RewardContext } from '../../protocol/rewardHost.ts';
import { createMathVerifier } from '../mathVerifier.ts';

/** Returns 1 for a correct completion, 0 for an incorrect one, and null if correctness cannot be determined. */
export type Accuracy = (sample: RewardSample) => number | null;

/**
 * Returns the accuracy function for a context: the task's own rule if there is one, otherwise mathematical equivalence
 * with the gold answer.
 */
export async function createAccuracy(context: RewardContext): Promise<Accuracy> {
	const task = context.task === null ? null : createTask(context.task as TaskDataset);
	const verify: Verifier =
		task === null ? await createMathVerifier() : (question, answer) => task.verify(question, answer);
	return (sample) => accuracyOf(sample, sample.trace, context.tags, verify);
}
