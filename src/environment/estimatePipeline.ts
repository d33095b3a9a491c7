import { Failure } from '../base/failure.ts';
import type { MemoryEstimate } from '../core/memory/estimateRecipe.ts';
import { compileStage, placeholders } from '../core/pipeline/compileStage.ts';
import { originOf, withContext } from '../core/pipeline/modelContext.ts';
import { resolveRecipe } from '../core/recipe/resolve.ts';
import { isRunnerStage, type NamedStage, type PipelineRecipe } from '../protocol/pipelineRecipe.ts';
import { orderedStages } from '../runs/pipeline/startPipeline.ts';
import { machineOf } from '../runs/recipeMachine.ts';
import { type EstimateOptions, estimateMemory } from './estimateMemory.ts';

/** What one stage of a pipeline takes, or why that cannot be said. */
export interface StageForecast {
	readonly name: string;
	readonly type: string;
	/** Minutes that it may take by its recipe; null: as long as it takes. */
	readonly minutes: number | null;
	readonly estimate: MemoryEstimate | null;
	/** One sentence; null: there is an estimate. */
	readonly reason: string | null;
}

/** What a pipeline takes. Its stages run one after the other: it needs what the largest of them needs. */
export interface PipelineForecast {
	readonly name: string;
	/** In the order in which they are run. */
	readonly stages: readonly StageForecast[];
	/** Name of the stage that takes most. */
	readonly largest: string;
	/** Bytes, of that stage. */
	readonly total: number;
	readonly deviceBytes: number | null;
	/** null: the device's memory is not known. */
	readonly fits: boolean | null;
	/** Sum of the minutes that stages may take; null: none has such a bound. */
	readonly minutes: number | null;
	/** Whether every stage that trains has one. */
	readonly bounded: boolean;
}

/**
 * The memory that each stage of a pipeline would take, a stage that starts from another with the model that its policy began as.
 * Fails as `estimateMemory` does where nothing can be said of any stage. @param folder where the recipe's paths start
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
			const reason = 'It samples from the policy, which needs less memory than training.';
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
		throw failure ?? new Failure('unsupported', `No stage of ${pipeline.name} trains.`, 'Add a training stage.');
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

/** The recipe of a stage as if it began with the model of the stage that all it starts from began with. */
function stageRecipe(pipeline: PipelineRecipe, stage: NamedStage) {
	const origin = originOf(pipeline, stage);
	const begun = compileStage(pipeline, origin, placeholders(pipeline, origin));
	const { model } = withContext(pipeline, origin, begun);
	return { ...compileStage(pipeline, stage, placeholders(pipeline, stage)), model };
}
