import { learnsFromRewards } from '../../src/protocol/recipeKeys/stageKinds.ts';
import type { RunHeader } from '../../src/protocol/rolloutsMessages.ts';
import { emptyState } from '../lib/emptyState.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

/** Empty state for a run without rollouts, with the reason. */
export function noRollouts(run: RunHeader): HTMLElement {
	return emptyState({ title: 'No rollouts yet', text: reason(run), actions: [] });
}

function reason({ status, trainer, stage, step }: RunHeader): string {
	const live = status === 'starting' || status === 'running' || status === 'paused';
	if (!live) {
		return trainer
			? `This run has no rollout files. ${trainer.notes.join(' ')}`
			: 'This run has no rollouts: it ended before the first GRPO step, or its rollouts were pruned.';
	}
	const where =
		stage === null ? '' : ` The current stage is "${plainLabel(stage, 60)}"${step === null ? '' : `, step ${step}`}.`;
	if (stage === 'value-model' || stage === 'process-reward-model') {
		return `The run is training a reward or value head. Only GRPO stages produce rollouts.${where}`;
	}
	if (trainer) return 'Rollouts will appear here when the trainer writes them.';
	if (learnsFromRewards(stage)) return `Rollouts will appear here after the first GRPO step is sampled.${where}`;
	return `The run is in its cold-start stage (SFT on worked solutions). Rollouts will appear here after the first GRPO step.${where}`;
}
