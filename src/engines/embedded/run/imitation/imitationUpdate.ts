import { learningRateAt } from '../../../../core/grpo/learningRate.ts';
import { type Metrics, metricValue } from '../../../../core/grpo/stepMetrics.ts';
import type { ResolvedUpdatingStage } from '../../../../core/recipe/resolvedRecipe.ts';
import { latentPlaces } from '../../../../core/text/latentTags.ts';
import type { Sample, Sequence, SftRow } from '../../learner.ts';
import { checkFinite, optimizerSettings, type StageHost, type Verdict } from '../stageHost.ts';
import { ofTrained, overAll, trainedLength } from '../trainedTokens.ts';

/** A sequence to imitate. Tokens with `trained` 0 come from an environment and are not trained on. */
export type ImitatedSequence = Sequence & Pick<Sample, 'trained'>;

interface ImitationOptions {
	readonly also?: (() => Promise<Metrics>) | undefined;
	readonly thoughts?: number;
	readonly metrics?: Metrics;
}

/**
 * Performs one imitation update: mean negative log-probability over all trained tokens after the prompts.
 * @param options.also additional metrics, computed whenever held-out accuracy is measured
 * @param options.thoughts number of latent thoughts in the prompts; absent if the prompts have no slots for them
 * @param options.metrics metrics of the rows
 */
export async function imitationUpdate(
	host: StageHost,
	settings: ResolvedUpdatingStage,
	rows: readonly ImitatedSequence[],
	start: number,
	{ also, thoughts, metrics = {} }: ImitationOptions = {},
): Promise<Verdict> {
	const tokens = rows.reduce((sum, row) => sum + row.tokens.length, 0);
	const targets = rows.reduce((sum, row) => sum + trainedLength(row), 0);
	const weighed: SftRow[] = rows.map(({ tokens, promptLength, trained }) => ({
		tokens,
		promptLength,
		weights: overAll(new Float32Array(trainedLength({ tokens, promptLength, trained })).fill(1 / targets), trained),
	}));
	const learningRate = learningRateAt(settings, host.progress.stageStep);
	const { learner, tokenizer } = host.parts;
	const optimizer = optimizerSettings(settings, learningRate);
	const result = await host.watch.measure('update', () =>
		thoughts === undefined
			? learner.updateSft(weighed, optimizer)
			: learner.updateLatent(weighed, latentPlaces(tokenizer, thoughts), optimizer),
	);
	checkFinite(result, host.progress.step + 1);
	host.progress.tokens += tokens;
	const seconds = (performance.now() - start) / 1000;
	let entropy = 0;
	for (const [i, row] of result.entropies.entries()) {
		for (const value of ofTrained(row, rows[i]?.trained)) entropy += value;
	}
	return host.endUpdate({
		batchEnds: true,
		batchStart: host.progress.step,
		...(also === undefined ? {} : { also }),
		metrics: {
			loss: metricValue(result.loss),
			grad_norm: metricValue(result.gradNorm),
			learning_rate: learningRate,
			entropy: metricValue(entropy / targets),
			...metrics,
			num_tokens: host.progress.tokens,
			step_time: seconds,
			'throughput/tokens': tokens / seconds,
		},
	});
}
