import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { describeFailures, type RewardFailures } from './scoreBatch.ts';

/** Explains why a run paused before a batch whose rewards failed, and how the user can fix it. */
export function explainHold(
	failures: RewardFailures,
	{ rewards }: Pick<ResolvedRecipe, 'rewards'>,
	step: number,
): { message: string; action: string } {
	const message = `${describeFailures(failures)} Training is paused before step ${step + 1}, and these completions were not used for training.`;
	const entry = rewards.findIndex((reward) => 'file' in reward && reward.file === failures.file);
	if (failures.episodes === true) {
		return {
			message,
			action:
				'After fixing any cause outside the environment file, continue the run to play the same batch again. If the file itself is at fault, ' +
				'correct the original, stop this run, and start a new one from its newest checkpoint with environment.file set to the corrected file.',
		};
	}
	const again = 'continue the run to score the same batch again.';
	if (entry < 0) return { message, action: `After fixing the cause, ${again}` };
	return {
		message,
		action:
			`After fixing any cause outside the file, ${again} If the file itself is at fault, correct the original, stop ` +
			`this run, and start a new one from its newest checkpoint with rewards.${entry}.file set to the corrected file.`,
	};
}
