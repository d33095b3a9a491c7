import type { BenchmarkName } from '../../protocol/benchmarks.ts';
import type { Verdict } from '../diagnosis/verdict.ts';
import type { EvaluationReport } from '../evaluation/evaluationReport.ts';
import type { Estimate } from '../evaluation/meanInterval.ts';
import type { ProblemCount } from '../evaluation/pairProblems.ts';
import type { MeasuredQuestion } from './completionMeasures.ts';
import type { CompletionSummary } from './completionSummary.ts';

/** All that a report tells of one run, as its folder says it. Texts are the run's own: nobody vouches for them. */
export interface ReportedRun {
	/** For people: the run's name, in a pipeline its stage's. */
	readonly title: string;
	readonly id: string;
	readonly engine: string;
	/** Another trainer wrote it. */
	readonly foreign: boolean;
	readonly status: string;
	/** Why it ended, where it did not finish. */
	readonly error: string | null;
	readonly created: number;
	readonly updated: number;
	/** null: not recorded. */
	readonly step: number | null;
	readonly totalSteps: number | null;
	readonly device: string;
	/** Name of the run and of the checkpoint that it continues; null: it began by itself. */
	readonly parent: { readonly run: string; readonly checkpoint: string } | null;
	readonly tags: readonly string[];
	readonly note: string | null;
	/** What it depends on, by name. */
	readonly environment: readonly (readonly [name: string, value: string])[];
	/** Resolved; undefined: there is none. */
	readonly recipe: unknown;
	readonly stages: readonly ReportedStage[];
	readonly evaluations: readonly ReportedEvaluation[];
	readonly rollouts: readonly ReportedRollout[];
	readonly searches: readonly ReportedSearch[];
	/** Alerts by likely cause; null: could not be read. */
	readonly diagnosis: Verdict | null;
	/** What could not be read, a sentence each. */
	readonly gaps: readonly string[];
}

/** Held-out accuracy at a step. */
export interface HeldOut extends Estimate {
	readonly step: number;
	readonly problems: number;
	readonly samples: number;
}

export interface ReportedStage {
	/** From 1. */
	readonly number: number;
	readonly type: string;
	/** Steps with metrics; null: none. */
	readonly steps: readonly [first: number, last: number] | null;
	readonly curves: readonly ReportedCurve[];
	/** Ascending by step; the first may be what the stage began with. */
	readonly heldOut: readonly HeldOut[];
	readonly before: HeldOut | null;
	readonly after: HeldOut | null;
	readonly completions: ReportedCompletions | null;
}

export interface ReportedCurve {
	/** Canonical name of the metric. */
	readonly name: string;
	readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface ReportedCompletions extends CompletionSummary {
	/** Where they come from: "held-out samples at step 120". */
	readonly of: string;
}

export interface ReportedEvaluation {
	readonly name: string;
	readonly policy: string;
	readonly problems: { readonly name: string; readonly hash: string };
	/** Questions that are done, of so many. */
	readonly done: number;
	readonly total: number;
	readonly created: number;
	readonly protocol: string;
	/** Name of the benchmark that it was an evaluation of; null: none. */
	readonly benchmark: BenchmarkName | null;
	/** What the training data give away of it; null: not looked for. */
	readonly contamination: string | null;
	readonly report: EvaluationReport;
	readonly completions: CompletionSummary | null;
	/** Right and all samples by question, for pairing. */
	readonly counts: ReadonlyMap<string, ProblemCount>;
	/** What is measured of the samples of each question, by question. */
	readonly questions: ReadonlyMap<string, MeasuredQuestion>;
}

export interface ReportedRollout {
	readonly title: string;
	/** null: its run has no steps. */
	readonly step: number | null;
	readonly prompt: string;
	/** null: the completion has no such section. */
	readonly think: string | null;
	readonly answer: string | null;
	/** The whole; shown where it has neither thinking nor answer. */
	readonly completion: string;
	readonly gold: string | null;
	readonly reward: number | null;
	readonly rewards: readonly (readonly [name: string, value: number | null])[];
	/** null: not recorded. */
	readonly truncated: boolean | null;
}

export interface ReportedSearch {
	readonly name: string;
	readonly strategy: string;
	readonly policy: string;
	readonly problem: string;
	readonly nodes: number;
	readonly depth: number;
	/** Why it ended; null: it has not. */
	readonly stop: string | null;
	readonly answer: string | null;
	readonly correct: boolean | null;
	readonly tokens: number | null;
	/** Value and texts of the best path, from below the root; null: nothing has a value. */
	readonly best: { readonly value: number | null; readonly texts: readonly string[] } | null;
}
