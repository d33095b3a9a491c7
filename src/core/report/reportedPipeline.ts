import type { EvaluatedRound } from '../pipeline/rounds.ts';
import type { ReportedEvaluation, ReportedRun } from './reportedRun.ts';

/** A pipeline stage, with or without a run. */
export interface ReportedPipelineStage {
	readonly name: string;
	readonly type: string;
	readonly status: string;
	/** Why the stage was skipped or failed, or null if not applicable. */
	readonly detail: string | null;
	/** Loop stage and round that this stage belongs to. */
	readonly round?: EvaluatedRound['round'];
	/** Names of the stages that this stage depends on. */
	readonly after: readonly string[];
	/** Held-out accuracy at the end of the stage, or null if not measured. */
	readonly accuracy: number | null;
	/** Duration in seconds, or null if the stage has not finished. */
	readonly seconds: number | null;
	/** Types of the outputs that the stage produced, such as "last-checkpoint, completions". */
	readonly outputs: readonly string[];
	/** The stage's run, or null if there is none or it cannot be read. */
	readonly run: ReportedRun | null;
	/** Result of an evaluation stage, or null for other stages and before any results exist. */
	readonly evaluation: ReportedEvaluation | null;
}

export interface ReportedPipeline {
	readonly title: string;
	readonly id: string;
	readonly status: string;
	readonly error: string | null;
	readonly created: number;
	readonly updated: number;
	/** Recipe that the pipeline was started with, or undefined if it cannot be read. */
	readonly recipe: unknown;
	/** Stages in execution order. */
	readonly stages: readonly ReportedPipelineStage[];
	readonly gaps: readonly string[];
}
