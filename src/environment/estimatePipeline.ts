import { Failure } from '../base/failure.ts';
import type { MemoryEstimate } from '../core/memory/estimateRecipe.ts';
import { compileStage, placeholders } from '../core/pipeline/compileStage.ts';
import { originOf, withContext } from '../core/pipeline/modelContext.ts';
import { resolveRecipe } from '../core/recipe/resolve.ts';
import { isRunnerStage, type NamedStage, type PipelineRecipe } from '../protocol/recipeKeys/pipelineRecipe.ts';
import { orderedStages } from '../runs/pipeline/startPipeline.ts';
import { machineOf } from '../runs/recipeMachine.ts';
import { type EstimateOptions, estimateMemory } from './estimateMemory.ts';

/** Memory estimate for one pipeline stage, or the reason there is none. */
export interface StageForecast {
	readonly name: string;
	readonly type: string;
	/** Time limit from the recipe, in minutes; null if unlimited. */
	readonly minutes: number | null;
	readonly estimate: MemoryEstimate | null;
	/** Reason for a missing estimate, in one sentence; null if there is an estimate. */
	readonly reason: string | null;
}

/**
 * Memory estimate for a pipeline. Stages run sequentially, so the pipeline needs as much memory as its largest stage.
 */
export interface PipelineForecast {
	readonly name: string;
	/** Stages in execution order. */
	readonly stages: readonly StageForecast[];
	/** Name of the stage with the highest memory use. */
	readonly largest: string;
	/** Memory of the largest stage, in bytes. */
	readonly total: number;
	readonly deviceBytes: number | null;
	/** null if the device memory is unknown. */
	readonly fits: boolean | null;
	/** Sum of the stages' time limits, in minutes; null if no stage has one. */
	readonly minutes: number | null;
	/** Whether every training stage has a time limit. */
	readonly bounded: boolean;
}

/**
 * Estimates the memory of each pipeline stage. If a stage starts from another stage's output, its estimate uses the
 * model at the root of the chain. Fails with the same errors as `estimateMemory` if no stage can be estimated.
 * @param folder base folder for relative paths in the recipe
 */
export async function estimatePipeline(
	pipeline: PipelineRecipe,
	folder: string,
	options: EstimateOptions = {},
): Promise<PipelineForecast> {
	const stages: StageForecast[] = [];
	let failure: Failure | null = null;
	for (const stage of orderedStages(pipeline)) {
		const { name, type } = stage;
		const minutes = typeof stage.minutes === 'number' ? stage.minutes : null;
		if (isRunnerStage(type)) {
			const reason = 'This stage samples from the policy and needs less memory than training.';
			stages.push({ name, type, minutes, estimate: null, reason });
			continue;
		}
		try {
			const written = stageRecipe(pipeline, stage);
			const estimate = await estimateMemory(resolveRecipe(written, await machineOf(written, folder)), options);
			stages.push({ name, type, minutes, estimate, reason: null });
		} catch (error) {
			const own = Failure.from(error);
			if (own.reason === 'cancelled') throw own;
			failure ??= own;
			stages.push({ name, type, minutes, estimate: null, reason: own.message });
		}
	}
	const known = stages.flatMap(({ name, estimate }) => (estimate === null ? [] : [{ name, estimate }]));
	if (known.length === 0) {
		throw failure ?? new Failure('unsupported', `${pipeline.name} has no training stage.`, 'Add one.');
	}
	const largest = known.reduce((a, b) => (b.estimate.total > a.estimate.total ? b : a));
	const training = stages.filter(({ type }) => !isRunnerStage(type));
	const bounds = stages.flatMap(({ minutes }) => (minutes === null ? [] : [minutes]));
	return {
		name: pipeline.name,
		stages,
		largest: largest.name,
		total: largest.estimate.total,
		deviceBytes: largest.estimate.deviceBytes,
		fits: known.some(({ estimate }) => estimate.fits === false) ? false : largest.estimate.fits,
		minutes: bounds.length === 0 ? null : bounds.reduce((sum, one) => sum + one, 0),
		bounded: training.every(({ minutes }) => minutes !== null),
	};
}

/** Returns a stage recipe that starts from the original model at the root of the stage's chain. */
function stageRecipe(pipeline: PipelineRecipe, stage: NamedStage) {
	const origin = originOf(pipeline, stage);
	const started = compileStage(pipeline, origin, placeholders(pipeline, origin));
	const { model } = withContext(pipeline, origin, started);
	return { ...compileStage(pipeline, stage, placeholders(pipeline, stage)), model };
}
