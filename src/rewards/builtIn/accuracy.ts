import { createTask } from '../../core/dataset/createTask.ts';
import { accuracyOf, type Verifier } from '../../core/reward/accuracyReward.ts';
import type { RewardSample } from '../../core/reward/rewardSample.ts';
import type { TaskDataset } from '../../protocol/recipe.ts';
import type { RewardContext } from '../../protocol/rewardHost.ts';
import { createMathVerifier } from '../mathVerifier.ts';

/** Whether a completion is right: 1 or 0, null where that cannot be told. */
export type Accuracy = (sample: RewardSample) => number | null;

/** The accuracy of a context: by its task's own rule, else by mathematical equivalence with the gold answer. */
export async function createAccuracy(context: RewardContext): Promise<Accuracy> {
	const task = context.task === null ? null : createTask(context.task as TaskDataset);
	const verify: Verifier =
		task === null ? await createMathVerifier() : (question, answer) => task.verify(question, answer);
	return (sample) => accuracyOf(sample, sample.trace, context.tags, verify);
}
