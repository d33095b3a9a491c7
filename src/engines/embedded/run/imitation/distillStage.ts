import { learningRateAt } from '../../../../core/grpo/learningRate.ts';
import { type Metrics, metricValue } from '../../../../core/grpo/stepMetrics.ts';
import type { ResolvedDistillStage } from '../../../../core/recipe/resolvedRecipe.ts';
import type { DistillRow, Sequence } from '../../learner.ts';
import { checkFinite, optimizerSettings, type StageHost, type Verdict } from '../stageHost.ts';
import { rejectRows } from './acceptedRows.ts';
import type { CompletionTexts } from './completionTexts.ts';
import { imitationUpdate } from './imitationUpdate.ts';

interface Batch {
	readonly rows: readonly Sequence[];
	readonly metrics: Metrics;
}

/**
 * Distills a teacher. The student trains either on the teacher's completions (those in a file that the rewards accept)
 * or on the teacher's distribution at each token (Hinton et al. 2015) of completions from a file, from the teacher (Kim
 * and Rush 2016), or from the student (Agarwal et al. 2023).
 * @param texts completions from the stage's file, or null to sample them
 */
export async function runDistillStage(
	host: StageHost,
	stageInForce: () => ResolvedDistillStage,
	texts: CompletionTexts | null,
): Promise<Verdict> {
	if (texts !== null) await rejectRows(host, stageInForce(), texts);
	for (;;) {
		const start = performance.now();
		const stage = stageInForce();
		const batch = await nextBatch(host, stage, texts);
		const verdict =
			stage.teacher === null
				? await imitationUpdate(host, stage, batch.rows, start)
				: await learnDistributions(host, stage, batch, start);
		if (verdict !== 'next') return verdict;
	}
}

async function nextBatch(host: StageHost, stage: ResolvedDistillStage, texts: CompletionTexts | null): Promise<Batch> {
	const { parts, progress, watch } = host;
	if (texts !== null) return { rows: texts.batch(progress.stageStep, stage.batch_size), metrics: {} };
	const start = performance.now();
	const longest = stage.max_completion_length as number;
	const posed = parts.feed.nextPosed(stage.batch_size, longest);
	const rows = await watch.measure('generate', () =>
		parts.learner.sample({
			prompts: posed.map(({ promptTokens }) => promptTokens),
			seeds: posed.map((_, i) => `${parts.recipe.seed}/distill/${progress.generations}/${i}`),
			maxNewTokens: longest,
			temperature: stage.sampling_temperature,
			...(stage.on_policy ? {} : { of: 'teacher' as const }),
		}),
	);
	progress.generations++;
	const seconds = (performance.now() - start) / 1000;
	const tokens = rows.reduce((sum, row) => sum + row.tokens.length - row.promptLength, 0);
	return {
		rows,
		metrics: { 'throughput/completions': rows.length / seconds, 'completions/mean_length': tokens / rows.length },
	};
}

async function learnDistributions(
	host: StageHost,
	stage: ResolvedDistillStage,
	{ rows, metrics }: Batch,
	start: number,
): Promise<Verdict> {
	const { learner } = host.parts;
	const { alpha, temperature } = stage;
	const targets = rows.reduce((sum, row) => sum + row.tokens.length - row.promptLength, 0);
	const tokens = rows.reduce((sum, row) => sum + row.tokens.length, 0);
	const weighed: DistillRow[] = rows.map(({ tokens: own, promptLength }) => ({
		tokens: own,
		promptLength,
		weights: new Float32Array(own.length - promptLength).fill(1 / targets),
	}));
	const learningRate = learningRateAt(stage, host.progress.stageStep);
	const result = await host.watch.measure('update', () =>
		learner.updateDistill(weighed, { alpha, temperature }, optimizerSettings(stage, learningRate)),
	);
	checkFinite(result, host.progress.step + 1);
	host.progress.tokens += tokens;
	let entropy = 0;
	let surprise = 0;
	for (const row of result.entropies) for (const value of row) entropy += value;
	for (const row of result.logprobs) for (const value of row) surprise -= value;
	const seconds = (performance.now() - start) / 1000;
	return host.endUpdate({
		batchEnds: true,
		batchStart: host.progress.step,
		metrics: {
			loss: metricValue(result.loss),
			grad_norm: metricValue(result.gradNorm),
			learning_rate: learningRate,
			'distill/divergence': metricValue(result.divergence),
			'distill/cross_entropy': metricValue(surprise / targets),
			entropy: metricValue(entropy / targets),
			...metrics,
			num_tokens: host.progress.tokens,
			step_time: seconds,
			'throughput/tokens': tokens / seconds,
		},
	});
}
