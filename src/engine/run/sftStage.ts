import { learningRateAt } from '../../core/grpo/learningRate.ts';
import { metricValue } from '../../core/grpo/stepMetrics.ts';
import type { ResolvedSftStage } from '../../core/recipe/resolvedRecipe.ts';
import type { SftRow } from '../learner.ts';
import { checkFinite, optimiserSettings, type StageHost, type Verdict } from './stageHost.ts';

/**
 * Supervised fine-tuning on worked solutions: mean negative log-probability over the completion tokens of the batch
 * (the prompt is not learned), end-of-sequence included.
 */
export async function runSftStage(host: StageHost, stage: () => ResolvedSftStage): Promise<Verdict> {
	const { feed, learner } = host.parts;
	for (;;) {
		const start = performance.now();
		const settings = stage();
		const worked = feed.nextWorked(settings.batch_size);
		const tokens = worked.reduce((sum, row) => sum + row.tokens.length, 0);
		const targets = worked.reduce((sum, row) => sum + row.tokens.length - row.promptTokens.length, 0);
		const rows: SftRow[] = worked.map((row) => ({
			tokens: row.tokens,
			promptLength: row.promptTokens.length,
			weights: new Float32Array(row.tokens.length - row.promptTokens.length).fill(1 / targets),
		}));
		const learningRate = learningRateAt(settings, host.progress.stageStep);
		const result = await host.watch.measure('update', () =>
			learner.updateSft(rows, optimiserSettings(settings, learningRate)),
		);
		checkFinite(result, host.progress.step + 1);
		host.progress.tokens += tokens;
		const seconds = (performance.now() - start) / 1000;
		let entropy = 0;
		for (const row of result.entropies) for (const value of row) entropy += value;
		const verdict = await host.endUpdate({
			batchEnds: true,
			batchStart: host.progress.step,
			metrics: {
				loss: metricValue(result.loss),
				grad_norm: metricValue(result.gradNorm),
				learning_rate: learningRate,
				entropy: metricValue(entropy / targets),
				num_tokens: host.progress.tokens,
				step_time: seconds,
				'throughput/tokens': tokens / seconds,
			},
		});
		if (verdict !== 'next') return verdict;
	}
}
