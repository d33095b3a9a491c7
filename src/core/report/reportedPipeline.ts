import type { EvaluatedRound } from '../pipeline/rounds.ts';
import type { ReportedEvaluation, ReportedRun } from './reportedRun.ts';

/** A stage of a pipeline, whether it has a run or not. */
export interface ReportedPipelineStage {
	readonly name: string;
	readonly type: string;
	readonly status: string;
	/** Why it was left out or failed; null: there is nothing to say. */
	readonly detail: string | null;
	/** Which round of which stage of a loop it is. */
	readonly round?: EvaluatedRound['round'];
	/** Names of the stages that it waits for. */
	readonly after: readonly string[];
	/** Held-out accuracy that it ended with; null: not measured. */
	readonly accuracy: number | null;
	/** null: it has not ended. */
	readonly seconds: number | null;
	/** Of what it has made: "last-checkpoint, completions". */
	readonly outputs: readonly string[];
	/** null: it has none, or none that can be read. */
	readonly run: ReportedRun | null;
	/** Of a stage that evaluates; null: it does not, or nothing is done. */
	readonly evaluation: ReportedEvaluation | null;
}

export interface ReportedPipeline {
	readonly title: string;
	readonly id: string;
	readonly status: string;
	readonly error: string | null;
	readonly created: number;
	readonly updated: number;
	/** As it was started with; undefined: it cannot be read. */
	readonly recipe: unknown;
	/** In the order in which they are run. */
	readonly stages: readonly ReportedPipelineStage[];
	readonly gaps: readonly string[];
}
