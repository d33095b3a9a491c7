import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { describeFailures, type RewardFailures } from './scoreBatch.ts';

/** Why a run pauses before a batch whose rewards failed, and what a person can do. */
export function explainHold(
	failures: RewardFailures,
	{ rewards }: Pick<ResolvedRecipe, 'rewards'>,
	step: number,
): { message: string; action: string } {
	const message = `${describeFailures(failures)} Training is paused before step ${step + 1}, and nothing was learned from them.`;
	const entry = rewards.findIndex((reward) => 'file' in reward && reward.file === failures.file);
	const again = 'Continue scores the same batch again';
	if (entry < 0) return { message, action: `${again}, once the cause is gone.` };
	return {
		message,
		action:
			`${again}, once the cause lies outside of the file and is gone. If the file is at fault, correct the original, stop ` +
			`this run and start one from its newest checkpoint with rewards.${entry}.file set to it.`,
	};
}
