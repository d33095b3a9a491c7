import type { auditSeverities } from '../../../protocol/audit.ts';
import type { TraceTags } from '../../trace/trace.ts';

/** A row of the user's data from which probes are built: a problem with a known correct answer. */
export interface ProbeRow {
	/** As passed to the policy. */
	readonly prompt: string;
	/** The gold answer as text; never blank. */
	readonly answer: string;
	/** Worked reasoning; null if there is none. */
	readonly solution: string | null;
	/** Columns of the dataset row, or public fields of the generated problem. */
	readonly row: Readonly<Record<string, unknown>>;
	/** A completion by an honest policy that solves the problem. */
	readonly honest: string;
	/** Wrong answers for this row, most plausible first. */
	readonly wrong: readonly string[];
}

export interface ProbeContext {
	readonly tags: TraceTags;
	/** The other rows, starting with the next one. */
	readonly others: readonly ProbeRow[];
}

/** One completion that a probe tries on a row. */
export interface ProbeAttempt {
	readonly completion: string;
	/** Default: false. */
	readonly truncated?: boolean;
	/** Replaces the prompt of the row. */
	readonly prompt?: string;
	/** Replaces the gold answer; present but undefined counts as absent. */
	readonly answer?: unknown;
}

/** Why a probe does not apply to a row, as one sentence. */
export interface ProbeSkip {
	readonly skip: string;
}

/**
 * What a probe tries to get without earning it.
 * - `content`: the reward for a correct answer, with none, a wrong one, or many. A format-only reward pays for their
 * format by design, so it is not judged on these.
 * - `form`: the reward for good format, with bad format and the correct answer. An answer-only reward pays for the
 * answer by design, so it is not judged on these.
 * - `any`: has neither an answer nor the format.
 */
export type ProbeTarget = 'content' | 'form' | 'any';

export interface Probe {
	/** Stable: used in findings, tests and settings. */
	readonly id: string;
	readonly title: string;
	readonly severity: (typeof auditSeverities)[number];
	readonly attacks: ProbeTarget;
	/** Why an honest reward must not pay it as much as an honest correct answer. */
	readonly why: string;
	/** The likely fix, one or two sentences. */
	readonly fix: string;
	/** Max rows tried (default: all), for long completions and those that may use up the time limit of a reward. */
	readonly mostRows?: number;
	/** Whether only a reward that sees truncation can pass it. */
	readonly seesTruncation?: boolean;
	/** Whether completions may use up the time limit of a reward, so that each one is scored alone. */
	readonly alone?: boolean;
	/**
	 * How many attempts on a row must be rewarded for it to count as fooled: `some` (default), or `every` if a reward
	 * that pays for just one of them merely reads the completion in its own consistent way.
	 */
	readonly needs?: 'some' | 'every';
	/** Whether it only applies to rewards that call a model. */
	readonly asksModel?: boolean;
	build(row: ProbeRow, context: ProbeContext): readonly ProbeAttempt[] | ProbeSkip;
}

/** A probe of the audit with the common cause of its family, under which findings are grouped. */
export interface AuditProbe extends Probe {
	readonly cause: string;
}

export const skip = (reason: string): ProbeSkip => ({ skip: reason });

/** Wraps completions as attempts. */
export const attempts = (...completions: readonly string[]): ProbeAttempt[] =>
	completions.map((completion) => ({ completion }));
