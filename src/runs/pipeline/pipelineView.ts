import { join } from 'node:path';
import { waitReason } from '../../core/pipeline/planStage.ts';
import type { StageCost } from '../../core/pipeline/stageCost.ts';
import type { PipelineRecord, PipelineStatus, StageState } from '../../protocol/pipeline.ts';
import { isRunnerStage } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import { readMetricsEnd, readRecord } from '../runReader.ts';
import { readPipelineState } from './pipelineFolder.ts';

/** A stage as displayed to the user. */
export interface StageView extends StageCost {
	readonly name: string;
	readonly type: string;
	readonly status: StageState['status'];
	/** Progress, in steps of the stage's run or in problems of its search or evaluation; null before the stage starts. */
	readonly done: number | null;
	readonly total: number | null;
	readonly accuracy: number | null;
	/** Active time, excluding the time between a stop and a resume. */
	readonly seconds: number | null;
	/** Device of the stage's run, such as "cpu (2 workers)"; null if unknown. */
	readonly device: string | null;
	/** Reason why the stage is waiting, was skipped, ended early, or failed. */
	readonly why: string | null;
	/** Description of partial failures in a finished stage, or null. */
	readonly partial: string | null;
	readonly folder: string;
	readonly kept: readonly string[];
}

export interface PipelineView {
	readonly folder: string;
	readonly name: string;
	readonly status: PipelineStatus;
	readonly record: PipelineRecord;
	readonly stages: readonly StageView[];
}

export async function viewPipeline(folder: string): Promise<PipelineView> {
	const { record, status } = await readPipelineState(folder);
	const stages = await Promise.all(record.stages.map((state) => viewStage(folder, record, state, status)));
	return { folder, name: record.name, status, record, stages };
}

async function viewStage(
	folder: string,
	record: PipelineRecord,
	state: StageState,
	status: PipelineStatus,
): Promise<StageView> {
	const { name, type, accuracy, started, ended, progress, spent, usage } = state;
	const path = join(folder, name);
	const hasStarted = state.status !== 'waiting' && state.status !== 'skipped';
	const run = hasStarted && !isRunnerStage(type) ? await readRecord(path).catch(() => null) : null;
	const end = ended ?? (status === 'running' ? Date.now() / 1000 : record.updated);
	const states = new Map(record.stages.map((one) => [one.name, one]));
	return {
		name,
		type,
		status: state.status,
		done: run?.step ?? progress?.done ?? null,
		total: run === null ? (progress?.total ?? null) : run.totalSteps,
		accuracy,
		// Earlier versions did not record the active time of all stages.
		seconds: spent ?? (started === null ? null : Math.max(0, end - started)),
		device: run?.device ?? null,
		tokens: usage?.tokens ?? (run === null ? null : await trainedTokens(path)),
		costs: usage?.costs ?? [],
		why:
			state.error?.message ??
			state.skipped ??
			state.cut ??
			state.partial ??
			waitReason(status === 'running' ? state : { ...state, wait: undefined }, states),
		partial: state.status === 'finished' ? (state.partial ?? null) : null,
		folder: path,
		kept: state.kept ?? [],
	};
}

/** Bytes at the end of a run's metrics that always include the whole last line, even with many metrics. */
const endBytes = 64 << 10;

/** Returns the number of prompt and completion tokens of a run so far, or null if not recorded. */
async function trainedTokens(run: string): Promise<number | null> {
	const lines = await readMetricsEnd(run, endBytes).catch(() => []);
	return lines.findLast(({ values }) => values.num_tokens != null)?.values.num_tokens ?? null;
}
