import { learningRateAt } from '../../../core/grpo/learningRate.ts';
import { countTokens } from '../../../core/grpo/lossWeights.ts';
import { type Metrics, metricValue } from '../../../core/grpo/stepMetrics.ts';
import type { ResolvedRlooStage } from '../../../core/recipe/resolvedRecipe.ts';
import { completionKl, leaveOneOutAdvantages } from '../../../core/rloo/leaveOneOut.ts';
import { sequenceMetrics } from '../../../core/rloo/sequenceLoss.ts';
import type { PerToken, RlooRow, ScoredBy, UpdateResult } from '../learner.ts';
import { addBatchMetrics, BarrenWatch, writeBatch } from './batchReport.ts';
import { clipRange } from './clipRange.ts';
import { openCurriculum } from './curriculum/openCurriculum.ts';
import { type GenerationBatch, nextGeneration } from './generationBatch.ts';
import { checkFinite, optimizerSettings, type StageHost, type Verdict } from './stageHost.ts';
import { partition, type TrainingRow, trainingRows } from './trainingRow.ts';

interface Penalized {
	/** KL to the reference for each completion, in nats. */
	readonly kl: readonly number[];
	readonly policy: readonly PerToken[];
	readonly reference: readonly PerToken[];
}

/** Computes each completion's KL to the reference. Rows with no counted tokens get 0, as in TRL. */
async function penaltyOf(host: StageHost, stage: ResolvedRlooStage, batch: GenerationBatch): Promise<Penalized> {
	const samples = batch.rollouts.map(({ sample }) => sample);
	const { learner } = host.parts;
	const of = (which: ScoredBy) =>
		host.watch.measure('logprobs', () => learner.logprobs(samples, which, stage.temperature));
	const policy = await of('policy');
	const reference = await of('reference');
	const kl = samples.map((sample, i) =>
		stage.mask_truncated_completions && sample.truncated
			? 0
			: completionKl(policy[i] as PerToken, reference[i] as PerToken),
	);
	return { kl, policy, reference };
}

const counts = (row: TrainingRow): boolean => !row.masked && row.advantage !== 0;

async function update(
	host: StageHost,
	stage: ResolvedRlooStage,
	part: readonly TrainingRow[],
	learningRate: number,
): Promise<{ metrics: Metrics; result: UpdateResult; kept: readonly TrainingRow[] }> {
	// Rows with zero advantage have no loss or gradient, but still count toward the mean.
	const kept = part.filter(counts);
	const weight = 1 / part.length;
	const rows: RlooRow[] = kept.map(({ rollout: { sample }, advantage, oldLogprobs }) => {
		return { tokens: sample.tokens, promptLength: sample.promptLength, weight, advantage, oldLogprobs };
	});
	const range = clipRange(stage);
	const result = await host.watch.measure('update', () =>
		host.parts.learner.updateRloo(rows, range, optimizerSettings(stage, learningRate)),
	);
	checkFinite(result, host.progress.step + 1);
	const place = new Map(kept.map((row, i) => [row, i]));
	const metrics = sequenceMetrics(
		part.map((row) => {
			const i = place.get(row);
			// Skipped rows were not recomputed, so use their sampler values.
			return {
				masked: row.masked,
				advantage: row.advantage,
				logprobs: i === undefined ? row.rollout.sample.logprobs : (result.logprobs[i] as PerToken),
				entropies: i === undefined ? row.rollout.sample.entropies : (result.entropies[i] as PerToken),
				oldLogprobs: i === undefined ? null : row.oldLogprobs,
			};
		}),
		range,
	);
	// A completion with no counted tokens has ratio 1: no gradient, but TRL's mean includes its advantage.
	const constant = part.reduce((sum, row) => sum - (row.masked ? row.advantage : 0), 0) * weight;
	return {
		result,
		kept,
		metrics: {
			loss: metricValue(result.loss + constant),
			grad_norm: metricValue(result.gradNorm),
			learning_rate: learningRate,
			...metrics,
		},
	};
}

/**
 * REINFORCE with a leave-one-out baseline (RLOO, Ahmadian et al. 2024), as in TRL 1.13's RLOOTrainer: the KL to the
 * reference is subtracted from a completion's reward, ratios are per completion, and the loss is the mean over
 * completions. Each generation batch is used for `num_iterations` passes of `steps_per_generation` updates.
 */
export async function runRlooStage(host: StageHost, stageInForce: () => ResolvedRlooStage): Promise<Verdict> {
	const { parts, progress, watch } = host;
	const { learner } = parts;
	const barren = new BarrenWatch(host);
	openCurriculum(host, stageInForce());
	for (;;) {
		let start = performance.now();
		let stage = stageInForce();
		const batchStart = progress.step;
		const batch = await nextGeneration(host, async () => {
			stage = stageInForce();
			// As in a grpo stage, use the current policy as the reference if beta becomes positive during the run.
			if (stage.beta > 0 && !learner.hasReference) await learner.setReference();
			return stage;
		});
		if (batch === 'stop') return 'stop';
		const penalty = stage.beta > 0 ? await penaltyOf(host, stage, batch) : null;
		const advantages = leaveOneOutAdvantages(
			batch.rollouts.map(({ reward }, i) =>
				reward === null || penalty === null ? reward : reward - stage.beta * (penalty.kl[i] as number),
			),
			stage.num_generations,
		);
		barren.note(advantages.dead);
		const rows = trainingRows(stage, batch, advantages.values);
		for (const [i, row] of rows.entries()) row.refLogprobs = penalty?.reference[i] ?? null;
		const cut = partition(rows, stage.steps_per_generation, parts.recipe.seed, progress.generations);
		const updates = Math.min(stage.num_iterations * cut.length, stage.steps - progress.stageStep);
		if (updates > 1) await prepareOld(host, stage, rows, cut, penalty);
		writeBatch(host, stage, rows);
		const generateSeconds = watch.seconds('generate');
		for (let u = 0; u < updates; u++) {
			const part = cut[u % cut.length] as TrainingRow[];
			const { metrics, result, kept } = await update(host, stage, part, learningRateAt(stage, progress.stageStep));
			if (u === 0) {
				const graph = kept.map((row, i) => ({ row, logprobs: result.logprobs[i] as PerToken }));
				for (const { row, logprobs } of graph) row.oldLogprobs = logprobs;
				if (penalty !== null) metrics.kl = klPerToken(rows, penalty);
				const groups = { dead: advantages.dead, size: stage.num_generations, scale: 'group' } as const;
				addBatchMetrics(host, metrics, { batch, rows, groups, generateSeconds, graph });
			}
			metrics.num_tokens = progress.tokens;
			metrics.step_time = (performance.now() - start) / 1000;
			const verdict = await host.endUpdate({ metrics, batchStart, batchEnds: u === updates - 1 });
			if (verdict !== 'next') return verdict;
			start = performance.now();
		}
	}
}

/**
 * Sets old log-probabilities for the rows in later parts, reusing the penalty's policy pass if there was one. Rows in
 * the first part get theirs from the first update, where ratios are exactly 1.
 */
async function prepareOld(
	host: StageHost,
	stage: ResolvedRlooStage,
	rows: readonly TrainingRow[],
	cut: readonly (readonly TrainingRow[])[],
	penalty: Penalized | null,
): Promise<void> {
	const later = cut.slice(1).flat().filter(counts);
	if (penalty !== null) {
		const place = new Map(rows.map((row, i) => [row, i]));
		for (const row of later) row.oldLogprobs = penalty.policy[place.get(row) as number] as PerToken;
		return;
	}
	if (later.length === 0) return;
	const samples = later.map(({ rollout }) => rollout.sample);
	const { learner } = host.parts;
	const logprobs = await host.watch.measure('logprobs', () => learner.logprobs(samples, 'policy', stage.temperature));
	for (const [i, row] of later.entries()) row.oldLogprobs = logprobs[i] as PerToken;
}

/** Returns the KL as logged by TRL: penalties averaged over the tokens that count. */
function klPerToken(rows: readonly TrainingRow[], { kl }: Penalized): number | null {
	return metricValue(kl.reduce((a, b) => a + b, 0) / countTokens(rows));
}
