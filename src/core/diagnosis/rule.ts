import type { Alert, Evidence } from '../../protocol/alert.ts';
import type { EvaluationSummary } from '../../protocol/evaluation.ts';
import type { DiagnosisRun, RecipeAdvice, Row } from './diagnosisRun.ts';
import type { StepFacts } from './stepFacts.ts';
import type { ThresholdName } from './thresholds.ts';

/** The content of an alert. */
export interface AlertContent {
	/** One sentence: the problem, with numbers. */
	readonly message: string;
	/** One sentence: what to do. */
	readonly action: string;
	/** Canonical names. */
	readonly metrics: readonly string[];
	readonly evidence: readonly Evidence[];
	/** Noun phrase that completes "Most likely cause: ..."; default: the title of the rule. */
	readonly cause?: string;
	/** Rules whose alerts are likely consequences of this finding, in addition to those listed by the rule. */
	readonly explains?: readonly string[];
	readonly recipe: RecipeAdvice | null;
}

/** An observation of a live run from outside. Times are in seconds since the epoch. */
export interface Look {
	readonly now: number;
	/** From the engine's record; null if the trainer writes none. */
	readonly heartbeat: number | null;
	/** Whether an engine is working, that is, neither paused nor ended. */
	readonly working: boolean;
	/**
	 * On the first look: seconds already passed without a new row or heartbeat. Later looks accumulate their own time.
	 * Default 0.
	 */
	readonly quiet?: number;
	readonly silent?: number;
}

/** A finding of a rule. Its text is composed only on demand. */
export interface RuleFinding {
	/** The subject of the finding, for rules that can report several at once. */
	readonly about?: string;
	readonly level: Alert['level'];
	/** The report is refreshed when this value changes; absent: reported once. */
	readonly edition?: number;
	tell(): AlertContent;
}

/**
 * An instance of a rule that watches one run. Each method returns the findings that hold from now on (an empty list:
 * none) or undefined if the input is irrelevant and earlier findings remain. Memory is bounded, whatever the length of
 * the run.
 */
export interface Watch {
	/** A row of metrics. Only rows of RL stages are passed, unless the rule sets `everyStage`. */
	row?(row: Row): readonly RuleFinding[] | undefined;
	/** Facts of the rollouts of a step, in ascending order; steps may be missing. */
	step?(facts: StepFacts): readonly RuleFinding[] | undefined;
	/** A held-out evaluation, each passed once. */
	evaluation?(summary: EvaluationSummary): readonly RuleFinding[] | undefined;
	/** Called as time passes; there may be no new rows. */
	look?(look: Look): readonly RuleFinding[] | undefined;
	/** Called when another stage begins. */
	stage?(): void;
}

/** A diagnosis rule. */
export interface Rule {
	/** `dead-groups`: also the prefix of the ids of its alerts. */
	readonly name: string;
	/** Display name. */
	readonly title: string;
	/** When it fires, in words and formulas. */
	readonly fires: string;
	/** When it stays silent although one might expect it to fire. */
	readonly silent: string;
	/** Canonical names. */
	readonly metrics: readonly string[];
	readonly thresholds: readonly ThresholdName[];
	/** Whether it also receives rows of stages that do not sample. */
	readonly everyStage?: boolean;
	/** Rules whose alerts may be consequences of this finding; they rank below it. */
	readonly explains?: readonly string[];
	watch(run: DiagnosisRun): Watch;
}
