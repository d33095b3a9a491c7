import type { Metrics } from '../../../../core/grpo/stepMetrics.ts';
import type { ResolvedGrpoStage } from '../../../../core/recipe/resolvedRecipe.ts';
import { type GenerationBatch, nextGeneration, retried } from '../generationBatch.ts';
import type { StageHost } from '../stageHost.ts';
import type { BatchAhead, BatchesAhead } from './batchesAhead.ts';

/** A batch to train on. */
export interface NextBatch {
	readonly batch: GenerationBatch;
	/** The current stage, with the temperature used to sample the batch. */
	readonly stage: ResolvedGrpoStage;
	/** Number of updates that the weights had received when they sampled the batch. */
	readonly version: number;
	/** Sampling time in seconds. */
	readonly generateSeconds: number;
}

/** Returns the number of updates per generation batch. */
const updatesOf = ({ num_iterations, steps_per_generation }: ResolvedGrpoStage): number =>
	num_iterations * steps_per_generation;

/** Returns how many batches are sampled before they are trained on: as many as `max_staleness` allows. */
export const batchesAhead = (stage: ResolvedGrpoStage): number =>
	Math.floor((stage.max_staleness ?? 0) / updatesOf(stage));

/**
 * Returns the next generation batch, or `stop` if the run must stop before it. With `max_staleness`, the batch may have
 * been sampled while training on earlier ones. Also starts sampling later batches.
 */
export async function nextBatch(
	host: StageHost,
	stageInForce: () => ResolvedGrpoStage,
	ahead: BatchesAhead,
): Promise<NextBatch | 'stop'> {
	const { progress, parts, watch } = host;
	let stage = stageInForce();
	const prepare = async () => {
		stage = stageInForce();
		// Runs without KL have no reference. If a KL term is added during a run, use the current policy.
		if (stage.beta > 0 && !parts.learner.hasReference) await parts.learner.setReference();
		return stage;
	};
	if (batchesAhead(stage) === 0) {
		const batch = await nextGeneration(host, prepare);
		if (batch === 'stop') return 'stop';
		return { batch, stage, version: progress.step, generateSeconds: watch.seconds('generate') };
	}
	const taken = await retried(host, async (): Promise<BatchAhead> => {
		await prepare();
		if (ahead.size === 0) await order(host, ahead, stage, 1);
		return watch.measure('generate', () => ahead.take(host));
	});
	if (taken === 'stop') return 'stop';
	await order(host, ahead, stage, batchesAhead(stage), updatesOf(stage));
	const { batch, generateSeconds, order: from } = taken;
	return { batch, generateSeconds, version: from.version, stage: { ...stage, temperature: from.temperature } };
}

/**
 * Orders batches with the current weights until there are `count`, or as many as the stage has left.
 * @param taken number of updates in the stage before the first of them
 */
async function order(
	host: StageHost,
	ahead: BatchesAhead,
	stage: ResolvedGrpoStage,
	count: number,
	taken = 0,
): Promise<void> {
	const { progress, parts } = host;
	const before = () => taken + ahead.size * updatesOf(stage);
	if (ahead.size >= count || progress.stageStep + before() >= stage.steps) return;
	const weights = await parts.learner.policyParameters();
	while (ahead.size < count && progress.stageStep + before() < stage.steps) {
		const firstStep = progress.step + before() + 1;
		ahead.add(host, stage, { weights, version: progress.step, firstStep, temperature: stage.temperature });
	}
}

/**
 * Returns the age of a batch, in updates, under the metric names that TRL's asynchronous trainer uses. All tokens in a
 * batch have the same age.
 */
export function stalenessMetrics({ max_staleness }: ResolvedGrpoStage, staleness: number): Metrics {
	if (max_staleness === undefined || max_staleness === 0) return {};
	return { 'sample/staleness_mean': staleness, 'sample/staleness_max': staleness };
}
