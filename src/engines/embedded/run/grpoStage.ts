import { learningRateAt } from '../../../core/grpo/learningRate.ts';
import { type Metrics, metricValue, updateMetrics } from '../../../core/grpo/stepMetrics.ts';
import type { ResolvedGrpoStage } from '../../../core/recipe/resolvedRecipe.ts';
import type { GrpoRow, PerToken, UpdateResult } from '../learner.ts';
import { advantagesOf } from './advantagesOf.ts';
import type { BatchesAhead } from './ahead/batchesAhead.ts';
import { batchesAhead, nextBatch, stalenessMetrics } from './ahead/nextBatch.ts';
import { addBatchMetrics, BarrenWatch, writeBatch } from './batchReport.ts';
import { openCurriculum } from './curriculum/openCurriculum.ts';
import { objectiveOf } from './objectiveOf.ts';
import { observationTerms } from './observationTerms.ts';
import { prepareSampler, samplerInputs, samplerMetrics } from './samplerTerms.ts';
import { checkFinite, optimizerSettings, type StageHost, type Verdict } from './stageHost.ts';
import { tokenTerms } from './tokenTerms.ts';
import { ofTrained, overAll } from './trainedTokens.ts';
import { type Part, partition, shuffled, type TrainingRow, trainingRows, weigh } from './trainingRow.ts';

/**
 * Computes old log-probabilities with the training graph. The first update does not need any (the ratio is exactly 1).
 * For later updates, rows in later parts get them from a pass before the first update, and rows in the first part from
 * the first update itself. Sampler values are not used, because they differ by about 2e-5.
 */
async function prepareLogprobs(host: StageHost, stage: ResolvedGrpoStage, parts: readonly Part[]): Promise<void> {
	const { learner } = host.parts;
	const later = parts.slice(1).flatMap((part) => part.kept.map(({ row }) => row));
	if (later.length > 0) {
		const samples = later.map((row) => row.rollout.sample);
		const logprobs = await host.watch.measure('logprobs', () => learner.logprobs(samples, 'policy', stage.temperature));
		for (const [i, row] of later.entries()) row.oldLogprobs = logprobs[i] as PerToken;
	}
	if (stage.beta > 0) {
		const rows = parts.flatMap((part) => part.kept.map(({ row }) => row));
		const samples = rows.map((row) => row.rollout.sample);
		const logprobs = await host.watch.measure('logprobs', () =>
			learner.logprobs(samples, 'reference', stage.temperature),
		);
		for (const [i, row] of rows.entries()) row.refLogprobs = logprobs[i] as PerToken;
	}
}

/** @param number 0-based number of the update within its batch */
async function update(
	host: StageHost,
	stage: ResolvedGrpoStage,
	part: Part,
	learningRate: number,
	number: number,
): Promise<{ metrics: Metrics; result: UpdateResult }> {
	const terms = await tokenTerms(host, stage, part, number);
	const observations = observationTerms(stage, part.rows);
	const inputsOf = (row: TrainingRow) => {
		const { factors, ...others } = terms.of(row);
		return { ...others, ...samplerInputs(row, stage, factors), ...observations.of(row) };
	};
	const rows: GrpoRow[] = part.kept.map(({ row, weight }) => ({
		tokens: row.rollout.sample.tokens,
		promptLength: row.rollout.sample.promptLength,
		weights: overAll(new Float32Array(row.length).fill(weight), row.rollout.sample.trained),
		oldLogprobs: row.oldLogprobs,
		refLogprobs: row.refLogprobs,
		...inputsOf(row),
	}));
	const objective = objectiveOf(stage);
	const result = await host.watch.measure('update', () =>
		host.parts.learner.updateGrpo(
			rows,
			{ ...objective, temperature: stage.temperature },
			optimizerSettings(stage, learningRate),
		),
	);
	checkFinite(result, host.progress.step + 1);
	const place = new Map(part.kept.map(({ row }, i) => [row, i]));
	const entropiesOf = (row: TrainingRow): PerToken => {
		const i = place.get(row);
		return i === undefined ? row.rollout.sample.entropies : (result.entropies[i] as PerToken);
	};
	terms.adapt(part.rows.map(entropiesOf));
	const metrics = updateMetrics(
		part.rows.map((row) => {
			const i = place.get(row);
			const { trained, logprobs } = row.rollout.sample;
			const own = (values: PerToken | null) => values && ofTrained(values, trained);
			return {
				...row.sampler,
				masked: row.masked,
				advantage: row.advantage,
				advantages: row.tokenAdvantages,
				// Skipped rows were not recomputed, so use their sampler values.
				logprobs: ofTrained(i === undefined ? logprobs : (result.logprobs[i] as PerToken), trained),
				entropies: ofTrained(entropiesOf(row), trained),
				oldLogprobs: i === undefined ? null : own(row.oldLogprobs),
				refLogprobs: own(row.refLogprobs),
			};
		}),
		objective,
	);
	return {
		result,
		metrics: {
			loss: metricValue(result.loss),
			grad_norm: metricValue(result.gradNorm),
			learning_rate: learningRate,
			...metrics,
			...(terms.bonus === null ? {} : { entropy_coef: host.progress.entropyBonus?.coefficient ?? terms.bonus }),
			...observations.metrics((row) => result.logprobs[place.get(row) as number] as PerToken),
			...(terms.share === null ? {} : { 'tokens/selected': terms.share }),
		},
	};
}

/**
 * Group relative policy optimization (DeepSeekMath, Shao et al. 2024). Samples and scores a batch of groups, then makes
 * `num_iterations` passes over it with `steps_per_generation` updates each. A step is one optimizer update.
 * @param ahead batches sampled while training on earlier ones
 */
export async function runGrpoStage(
	host: StageHost,
	stageInForce: () => ResolvedGrpoStage,
	ahead: BatchesAhead,
): Promise<Verdict> {
	const { parts, progress } = host;
	const barren = new BarrenWatch(host);
	openCurriculum(host, stageInForce());
	ahead.restore(host, stageInForce(), batchesAhead(stageInForce()));
	for (;;) {
		let start = performance.now();
		const batchStart = progress.step;
		const next = await nextBatch(host, stageInForce, ahead);
		if (next === 'stop') return 'stop';
		const { batch, stage, generateSeconds } = next;
		const advantages = advantagesOf(host, stage, batch.rollouts);
		barren.note(advantages.dead);
		const { seed } = parts.recipe;
		const values =
			stage.control === 'shuffle' ? shuffled(advantages.values, seed, progress.generations) : advantages.values;
		const rows = trainingRows(stage, batch, values);
		const weighed = weigh(stage, partition(rows, stage.steps_per_generation, seed, progress.generations));
		const updates = Math.min(stage.num_iterations * weighed.length, stage.steps - progress.stageStep);
		await prepareLogprobs(host, stage, updates > 1 ? weighed : weighed.slice(0, 1));
		await prepareSampler(host, stage, rows);
		writeBatch(host, stage, rows, batchesAhead(stage) > 0 ? next.version : null);
		for (let u = 0; u < updates; u++) {
			const part = weighed[u % weighed.length] as Part;
			const { metrics, result } = await update(host, stage, part, learningRateAt(stage, progress.stageStep), u);
			if (u === 0) {
				for (const [i, { row }] of part.kept.entries()) row.oldLogprobs = result.logprobs[i] as PerToken;
				const graph = part.kept.map(({ row }, i) => ({ row, logprobs: result.logprobs[i] as PerToken }));
				const groups = { dead: advantages.dead, size: stage.num_generations, scale: stage.scale_rewards };
				Object.assign(metrics, samplerMetrics(stage, rows), stalenessMetrics(stage, batchStart - next.version));
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
