import type { Alert, Evidence } from '../../protocol/alert.ts';
import type { EvaluationSummary } from '../../protocol/evaluation.ts';
import type { DiagnosisRun, RecipeAdvice, Row } from './diagnosisRun.ts';
import type { StepFacts } from './stepFacts.ts';
import type { ThresholdName } from './thresholds.ts';

/** What an alert tells. */
export interface Telling {
	/** One sentence: what, with the numbers. */
	readonly message: string;
	/** One sentence: what to do about it. */
	readonly action: string;
	/** By canonical name. */
	readonly metrics: readonly string[];
	readonly evidence: readonly Evidence[];
	/** Noun phrase that completes "Likely cause: ..."; default: the title of the rule. */
	readonly cause?: string;
	/** Rules whose alerts are likely consequences of this finding, beyond those of its rule. */
	readonly explains?: readonly string[];
	readonly recipe: RecipeAdvice | null;
}

/** A look at a run at work, from outside. Times are seconds since the epoch. */
export interface Look {
	readonly now: number;
	/** Of the engine's record; null: the trainer writes none. */
	readonly heartbeat: number | null;
	/** Whether an engine is at work: neither paused nor over. */
	readonly working: boolean;
	/** Of a first look, seconds without a new row and without a new heartbeat before it; later looks add up. Default 0. */
	readonly quiet?: number;
	readonly silent?: number;
}

/** A rule holds. Words are put together only when they are needed. */
export interface Holding {
	/** What it is about, where a rule may hold of several things at once. */
	readonly about?: string;
	readonly level: Alert['level'];
	/** What is told has changed where this has; absent: it is told once. */
	readonly edition?: number;
	tell(): Telling;
}

/**
 * A rule at work on one run. Each method returns what holds from now on, nothing being an empty list; undefined: what it
 * was given says nothing, so what held still holds. Memory is bounded, whatever the length of the run.
 */
export interface Watch {
	/** Rows of RL stages alone, unless the rule looks at every stage. */
	row?(row: Row): readonly Holding[] | undefined;
	/** Rollouts of a step, ascending as far as they are there; some or all steps may be left out. */
	step?(facts: StepFacts): readonly Holding[] | undefined;
	/** Held-out evaluations, each once. */
	evaluation?(summary: EvaluationSummary): readonly Holding[] | undefined;
	/** Time has passed; there may be no new rows. */
	look?(look: Look): readonly Holding[] | undefined;
	/** Another stage has begun. */
	stage?(): void;
}

/** A rule of diagnosis. */
export interface Rule {
	/** `dead-groups`: the beginning of the ids of its alerts. */
	readonly name: string;
	/** For a person. */
	readonly title: string;
	/** When it fires, in words and formulas. */
	readonly fires: string;
	/** When it is silent although one might expect it. */
	readonly silent: string;
	/** By canonical name. */
	readonly metrics: readonly string[];
	readonly thresholds: readonly ThresholdName[];
	/** Whether it sees rows of stages that sample nothing, too. */
	readonly everyStage?: boolean;
	/** Rules whose alerts may be consequences of what this one finds: they rank below it. */
	readonly explains?: readonly string[];
	watch(run: DiagnosisRun): Watch;
}
