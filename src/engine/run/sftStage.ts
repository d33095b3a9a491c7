import type { ResolvedSftStage } from '../../core/recipe/resolvedRecipe.ts';
import { imitationUpdate } from './imitation/imitationUpdate.ts';
import type { StageHost, Verdict } from './stageHost.ts';

/**
 * Supervised fine-tuning on worked solutions: mean negative log-probability over the completion tokens of the batch
 * (the prompt is not learned), end-of-sequence included.
 */
export async function runSftStage(host: StageHost, stage: () => ResolvedSftStage): Promise<Verdict> {
	for (;;) {
		const start = performance.now();
		const settings = stage();
		const worked = host.parts.feed.nextWorked(settings.batch_size);
		const rows = worked.map(({ tokens, promptTokens }) => ({ tokens, promptLength: promptTokens.length }));
		const verdict = await imitationUpdate(host, settings, rows, start);
		if (verdict !== 'next') return verdict;
	}
}
