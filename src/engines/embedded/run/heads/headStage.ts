import { Random } from '../../../../base/random.ts';
import { learningRateAt } from '../../../../core/grpo/learningRate.ts';
import { type Metrics, metricValue } from '../../../../core/grpo/stepMetrics.ts';
import type { ResolvedHeadStage } from '../../../../core/recipe/resolvedRecipe.ts';
import { headOfStage } from '../../../../protocol/recipeKeys/headStages.ts';
import { checkFinite, optimizerSettings, type StageHost, type Verdict } from '../stageHost.ts';
import { heldOutQuality, updateQuality } from './headMetrics.ts';
import { heldOutRows } from './heldOutRows.ts';
import { type LabeledRow, valueRows } from './labeledRow.ts';
import type { LabeledSteps } from './labelFile.ts';
import { labelPolicy } from './labelPolicy.ts';

/** Rows for the updates in one batch, with batch metrics. */
interface Batch {
	readonly updates: readonly (readonly LabeledRow[])[];
	readonly metrics: Metrics;
}

/**
 * Trains a head alongside the frozen policy, using binary cross-entropy between values and labels. Labels are the
 * outcomes of the policy's own completions (`value-model`), the fractions of correct completions from each step
 * (`process-reward-model`), or values read from a file.
 * @param labels labels from the stage's file, or null if it has none
 */
export async function runHeadStage(
	host: StageHost,
	stageInForce: () => ResolvedHeadStage,
	labels: LabeledSteps | null,
): Promise<Verdict> {
	const { learner } = host.parts;
	let heldOut: Promise<readonly LabeledRow[]> | null = null;
	for (;;) {
		let start = performance.now();
		const stage = stageInForce();
		const head = headOfStage[stage.type];
		const batchStart = host.progress.step;
		const { updates, metrics: batchMetrics } = await nextBatch(host, stage, labels);
		const evaluate = async (): Promise<Metrics> => {
			heldOut ??=
				labels === null ? heldOutRows(host.parts, stage, host.progress.step) : Promise.resolve(labels.heldOut);
			const rows = await heldOut;
			return heldOutQuality(rows, await learner.values(rows, head));
		};
		for (const [u, rows] of updates.entries()) {
			const learningRate = learningRateAt(stage, host.progress.stageStep);
			const result = await host.watch.measure('update', () =>
				learner.updateHead(head, valueRows(rows), optimizerSettings(stage, learningRate)),
			);
			checkFinite(result, host.progress.step + 1);
			const verdict = await host.endUpdate({
				batchStart,
				batchEnds: u === updates.length - 1,
				evaluate,
				metrics: {
					loss: metricValue(result.loss),
					grad_norm: metricValue(result.gradNorm),
					learning_rate: learningRate,
					...updateQuality(rows, result.values),
					...(u === 0 ? batchMetrics : {}),
					num_tokens: host.progress.tokens,
					step_time: (performance.now() - start) / 1000,
				},
			});
			if (verdict !== 'next') return verdict;
			start = performance.now();
		}
	}
}

async function nextBatch(host: StageHost, stage: ResolvedHeadStage, labels: LabeledSteps | null): Promise<Batch> {
	const { parts, progress, watch } = host;
	const left = stage.steps - progress.stageStep;
	if (labels !== null) {
		const rows = labels.batch(progress.stageStep, stage.batch_size);
		progress.tokens += rows.reduce((sum, { tokens }) => sum + tokens.length, 0);
		return { updates: [rows], metrics: {} };
	}
	const start = performance.now();
	const generation = progress.generations;
	const batch = await watch.measure('generate', () => labelPolicy(parts, stage, generation, progress.step));
	const seconds = (performance.now() - start) / 1000;
	progress.generations++;
	progress.tokens += batch.tokens;
	const updates: LabeledRow[][] = [];
	for (let pass = 0; pass < stage.num_iterations; pass++) {
		const order = [...batch.rows];
		if (stage.steps_per_generation > 1) Random.of(parts.recipe.seed, 'head parts', generation, pass).shuffle(order);
		for (let p = 0; p < stage.steps_per_generation; p++) {
			const cut = (part: number) => Math.floor((part * order.length) / stage.steps_per_generation);
			updates.push(order.slice(cut(p), cut(p + 1)));
		}
	}
	return {
		updates: updates.slice(0, left),
		metrics: {
			'head/outcome': batch.accuracy,
			...batch.choice,
			'throughput/completions': batch.sampled / seconds,
			'throughput/tokens': batch.tokens / seconds,
		},
	};
}
