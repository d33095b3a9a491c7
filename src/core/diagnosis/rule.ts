import type { Alert, Evidence } from '../../protocol/alert.ts';
import type { EvaluationSummary } from '../../protocol/evaluation.ts';
import type { DiagnosisRun, RecipeAdvice, Row } from './diagnosisRun.ts';
import type { StepFacts } from './stepFacts.ts';
import type { ThresholdName } from './thresholds.ts';

/** The content of an alert. */
export interface AlertContent {
	/** One sentence that states the problem, with numbers. */
	readonly message: string;
	/** One sentence that says what to do. */
	readonly action: string;
	/** Canonical metric names. */
	readonly metrics: readonly string[];
	readonly evidence: readonly Evidence[];
	/** Noun phrase that completes "Most likely cause: ...". Defaults to the rule title. */
	readonly cause?: string;
	/** Rules whose alerts are likely consequences of this finding, in addition to those that the rule lists. */
	readonly explains?: readonly string[];
	readonly recipe: RecipeAdvice | null;
}

/** A snapshot of a live run, as seen from outside the engine. Times are in seconds since the epoch. */
export interface Look {
	readonly now: number;
	/** Heartbeat from the engine's record, or null if the trainer writes none. */
	readonly heartbeat: number | null;
	/** Whether an engine is running, that is, neither paused nor finished. */
	readonly working: boolean;
	/**
	 * Seconds already elapsed without a new row or heartbeat, for the first check. Later checks accumulate their own
	 * time. Defaults to 0.
	 */
	readonly quiet?: number;
	readonly silent?: number;
}

/** A rule finding. Its text is generated only on demand. */
export interface RuleFinding {
	/** Subject of the finding, for rules that can report several at the same time. */
	readonly about?: string;
	readonly level: Alert['level'];
	/**
	 * Version of the finding. The report is refreshed whenever this value changes. If absent, the finding is reported
	 * once.
	 */
	readonly edition?: number;
	content(): AlertContent;
}

/**
 * A rule instance that watches one run. Each method returns the findings that hold from now on (an empty list if there
 * are none), or undefined if the input is irrelevant and earlier findings remain in effect. Memory is bounded
 * regardless of the run's length.
 */
export interface Watch {
	/** Receives a metric row. Only rows from RL stages are passed, unless the rule sets `everyStage`. */
	row?(row: Row): readonly RuleFinding[] | undefined;
	/** Receives the rollout facts for a step, in ascending order. Steps can be missing. */
	step?(facts: StepFacts): readonly RuleFinding[] | undefined;
	/** Receives each held-out evaluation once. */
	evaluation?(summary: EvaluationSummary): readonly RuleFinding[] | undefined;
	/** Called periodically, even if there are no new rows. */
	look?(look: Look): readonly RuleFinding[] | undefined;
	/** Called when a new stage begins. */
	stage?(): void;
}

/** A diagnosis rule. */
export interface Rule {
	/** Rule name, such as `dead-groups`; also the prefix of its alert ids. */
	readonly name: string;
	/** Display name. */
	readonly title: string;
	/** When the rule fires, in words and formulas. */
	readonly fires: string;
	/** When the rule stays silent even though one might expect it to fire; completes "It stays silent ...". */
	readonly silent: string;
	/** Canonical metric names. */
	readonly metrics: readonly string[];
	readonly thresholds: readonly ThresholdName[];
	/** Whether the rule also receives rows from stages that do not sample. */
	readonly everyStage?: boolean;
	/** Rules whose alerts can be consequences of this finding and are therefore ranked below it. */
	readonly explains?: readonly string[];
	watch(run: DiagnosisRun): Watch;
}
