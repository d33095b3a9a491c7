import { learningRateAt } from '../../../../core/grpo/learningRate.ts';
import { type Metrics, metricValue } from '../../../../core/grpo/stepMetrics.ts';
import type { ResolvedUpdatingStage } from '../../../../core/recipe/resolvedRecipe.ts';
import type { Sequence, SftRow } from '../../learner.ts';
import { checkFinite, optimizerSettings, type StageHost, type Verdict } from '../stageHost.ts';

/**
 * Performs one imitation update: mean negative log-probability over all tokens after the prompts.
 * @param also additional metrics, computed whenever held-out accuracy is measured
 */
export async function imitationUpdate(
	host: StageHost,
	settings: ResolvedUpdatingStage,
	rows: readonly Sequence[],
	start: number,
	also?: () => Promise<Metrics>,
): Promise<Verdict> {
	const tokens = rows.reduce((sum, row) => sum + row.tokens.length, 0);
	const targets = rows.reduce((sum, row) => sum + row.tokens.length - row.promptLength, 0);
	const weighed: SftRow[] = rows.map((row) => ({
		...row,
		weights: new Float32Array(row.tokens.length - row.promptLength).fill(1 / targets),
	}));
	const learningRate = learningRateAt(settings, host.progress.stageStep);
	const result = await host.watch.measure('update', () =>
		host.parts.learner.updateSft(weighed, optimizerSettings(settings, learningRate)),
	);
	checkFinite(result, host.progress.step + 1);
	host.progress.tokens += tokens;
	const seconds = (performance.now() - start) / 1000;
	let entropy = 0;
	for (const row of result.entropies) for (const value of row) entropy += value;
	return host.endUpdate({
		batchEnds: true,
		batchStart: host.progress.step,
		...(also === undefined ? {} : { also }),
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
}
