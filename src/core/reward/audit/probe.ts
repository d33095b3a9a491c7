import type { auditSeverities } from '../../../protocol/audit.ts';
import type { TraceTags } from '../../trace/trace.ts';

/** A row of the user's data that probes build on: a problem with a known correct answer. */
export interface ProbeRow {
	/** Prompt as passed to the policy. */
	readonly prompt: string;
	/** Gold answer as text; never blank. */
	readonly answer: string;
	/** Worked reasoning, or null if there is none. */
	readonly solution: string | null;
	/** Columns of the dataset row, or public fields of the generated problem. */
	readonly row: Readonly<Record<string, unknown>>;
	/** Completion from an honest policy that solves the problem. */
	readonly honest: string;
	/** Wrong answers for this row, most plausible first. */
	readonly wrong: readonly string[];
}

export interface ProbeContext {
	readonly tags: TraceTags;
	/** All other rows, starting with the next one. */
	readonly others: readonly ProbeRow[];
}

/** A completion that a probe tries on a row. */
export interface ProbeAttempt {
	readonly completion: string;
	/** Defaults to false. */
	readonly truncated?: boolean;
	/** Prompt to use instead of the row's prompt. */
	readonly prompt?: string;
	/** Answer to use instead of the gold answer. If the field is present but undefined, the row has no gold answer. */
	readonly answer?: unknown;
}

/** One sentence explaining why a probe does not apply to a row. */
export interface ProbeSkip {
	readonly skip: string;
}

/**
 * Undeserved reward that a probe tries to obtain.
 * - `content`: the reward for a correct answer, sought with no answer, a wrong answer, or several answers. A
 *   format-only reward accepts these because of their format, as intended, so it is not judged on them.
 * - `form`: the reward for good format, sought with bad format and the correct answer. An answer-only reward accepts
 *   these because of their answer, as intended, so it is not judged on them.
 * - `any`: any reward, sought with neither an answer nor the format.
 */
export type ProbeTarget = 'content' | 'form' | 'any';

export interface Probe {
	/** Stable id, used in findings, tests, and settings. */
	readonly id: string;
	readonly title: string;
	readonly severity: (typeof auditSeverities)[number];
	readonly attacks: ProbeTarget;
	/** Why a sound reward must score this lower than an honest correct answer. */
	readonly why: string;
	/** Likely fix, in one or two sentences. */
	readonly fix: string;
	/**
	 * Maximum number of rows to try (default: all). Set for long completions and for completions that may hit the
	 * reward's time limit.
	 */
	readonly maxRows?: number;
	/** Whether only rewards that receive the truncation flag can pass the probe. */
	readonly seesTruncation?: boolean;
	/** Whether each completion is scored separately because it may use up the reward's time limit. */
	readonly alone?: boolean;
	/**
	 * How many attempts on a row must be rewarded for the probe to succeed: `some` (default), or `every` if a single
	 * rewarded attempt would show only how the reward reads completions.
	 */
	readonly needs?: 'some' | 'every';
	/** Whether the probe applies only to rewards that call a model. */
	readonly asksModel?: boolean;
	build(row: ProbeRow, context: ProbeContext): readonly ProbeAttempt[] | ProbeSkip;
}

/** An audit probe and the cause shared by its family; findings are grouped by cause. */
export interface AuditProbe extends Probe {
	readonly cause: string;
}

export const skip = (reason: string): ProbeSkip => ({ skip: reason });

/** Wraps completions as attempts. */
export const attempts = (...completions: readonly string[]): ProbeAttempt[] =>
	completions.map((completion) => ({ completion }));
