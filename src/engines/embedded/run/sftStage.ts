import type { ResolvedSftStage } from '../../../core/recipe/resolvedRecipe.ts';
import type { CompletionTexts } from './imitation/completionTexts.ts';
import { imitationUpdate } from './imitation/imitationUpdate.ts';
import type { StageHost, Verdict } from './stageHost.ts';

/**
 * Supervised fine-tuning on worked solutions. The loss is the mean negative log-probability over the batch's completion
 * tokens, including end-of-sequence but not the prompt.
 * @param texts completions from the stage's file, or null to use the worked solutions in the dataset
 */
export async function runSftStage(
	host: StageHost,
	stage: () => ResolvedSftStage,
	texts: CompletionTexts | null,
): Promise<Verdict> {
	for (;;) {
		const start = performance.now();
		const settings = stage();
		const rows =
			texts?.batch(host.progress.stageStep, settings.batch_size) ??
			host.parts.feed
				.nextWorked(settings.batch_size)
				.map(({ tokens, promptTokens }) => ({ tokens, promptLength: promptTokens.length }));
		const verdict = await imitationUpdate(host, settings, rows, start);
		if (verdict !== 'next') return verdict;
	}
}
