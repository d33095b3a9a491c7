import type { BenchmarkName } from '../../protocol/benchmarks.ts';
import type { Verdict } from '../diagnosis/verdict.ts';
import type { EvaluationReport } from '../evaluation/evaluationReport.ts';
import type { Estimate } from '../evaluation/meanInterval.ts';
import type { ProblemCount } from '../evaluation/pairProblems.ts';
import type { MeasuredQuestion } from './completionMeasures.ts';
import type { CompletionSummary } from './completionSummary.ts';

/** Everything a report uses from a run folder. All text is untrusted. */
export interface ReportedRun {
	/** Display name: the run name or, in a pipeline, the stage name. */
	readonly title: string;
	readonly id: string;
	readonly engine: string;
	/** Whether the run was written by another trainer. */
	readonly foreign: boolean;
	readonly status: string;
	/** Why the run ended, if it did not finish. */
	readonly error: string | null;
	readonly created: number;
	readonly updated: number;
	/** null if not recorded. */
	readonly step: number | null;
	readonly totalSteps: number | null;
	readonly device: string;
	/** Run and checkpoint that this run continues, or null if it started from scratch. */
	readonly parent: { readonly run: string; readonly checkpoint: string } | null;
	readonly tags: readonly string[];
	readonly note: string | null;
	/** Software and hardware versions, by name. */
	readonly environment: readonly (readonly [name: string, value: string])[];
	/** Resolved recipe, or undefined if there is none. */
	readonly recipe: unknown;
	readonly stages: readonly ReportedStage[];
	readonly evaluations: readonly ReportedEvaluation[];
	readonly rollouts: readonly ReportedRollout[];
	readonly searches: readonly ReportedSearch[];
	/** Diagnosis with alerts ranked by likely cause, or null if unreadable. */
	readonly diagnosis: Verdict | null;
	/** Descriptions of files that could not be read, one sentence each. */
	readonly gaps: readonly string[];
}

/** Held-out accuracy at a given step. */
export interface HeldOut extends Estimate {
	readonly step: number;
	readonly problems: number;
	readonly samples: number;
}

export interface ReportedStage {
	/** 1-based stage number. */
	readonly number: number;
	readonly type: string;
	/** First and last steps with metrics, or null if there are none. */
	readonly steps: readonly [first: number, last: number] | null;
	readonly curves: readonly ReportedCurve[];
	/** Held-out accuracy in ascending step order. The first entry can be the starting point of the stage. */
	readonly heldOut: readonly HeldOut[];
	readonly before: HeldOut | null;
	readonly after: HeldOut | null;
	readonly completions: ReportedCompletions | null;
}

export interface ReportedCurve {
	/** Canonical metric name. */
	readonly name: string;
	readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface ReportedCompletions extends CompletionSummary {
	/** Source of the completions, such as "held-out samples at step 120". */
	readonly of: string;
}

export interface ReportedEvaluation {
	readonly name: string;
	readonly policy: string;
	readonly problems: { readonly name: string; readonly hash: string };
	/** Number of finished questions out of the total. */
	readonly done: number;
	readonly total: number;
	readonly created: number;
	readonly protocol: string;
	/** How the thinking of completions was perturbed, or null if it was not. */
	readonly perturbation: string | null;
	/** Benchmark name, or null if this is not a benchmark. */
	readonly benchmark: BenchmarkName | null;
	/** Overlap with the training data, or null if not checked. */
	readonly contamination: string | null;
	readonly report: EvaluationReport;
	readonly completions: CompletionSummary | null;
	/** Correct and total sample counts for each question, for pairing. */
	readonly counts: ReadonlyMap<string, ProblemCount>;
	/** Sample metrics for each question. */
	readonly questions: ReadonlyMap<string, MeasuredQuestion>;
}

export interface ReportedRollout {
	readonly title: string;
	/** null if the run has no steps. */
	readonly step: number | null;
	readonly prompt: string;
	/** null if the completion has no such section. */
	readonly think: string | null;
	readonly answer: string | null;
	/** Full completion, shown if it has neither thinking nor an answer. */
	readonly completion: string;
	readonly gold: string | null;
	readonly reward: number | null;
	readonly rewards: readonly (readonly [name: string, value: number | null])[];
	/** null if not recorded. */
	readonly truncated: boolean | null;
}

export interface ReportedSearch {
	readonly name: string;
	readonly strategy: string;
	readonly policy: string;
	readonly problem: string;
	readonly nodes: number;
	readonly depth: number;
	/** Stop reason, or null while running. */
	readonly stop: string | null;
	readonly answer: string | null;
	readonly correct: boolean | null;
	readonly tokens: number | null;
	/** Value of the best path and the text of each node on the path except the root. null if no node has a value. */
	readonly best: { readonly value: number | null; readonly texts: readonly string[] } | null;
}
