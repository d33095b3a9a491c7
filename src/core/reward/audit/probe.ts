import type { auditSeverities } from '../../../protocol/audit.ts';
import type { TraceTags } from '../../trace/trace.ts';

/** A row of the user's data that probes are built from: a problem whose right answer is known. */
export interface ProbeRow {
	/** As the policy gets it. */
	readonly prompt: string;
	/** The gold answer as text; never blank. */
	readonly answer: string;
	/** The worked thinking; null: none. */
	readonly solution: string | null;
	/** Columns of the dataset row, or the generated problem's public fields. */
	readonly row: Readonly<Record<string, unknown>>;
	/** What an honest policy that solves the problem writes. */
	readonly honest: string;
	/** Answers that are wrong for this row, the most plausible first. */
	readonly wrong: readonly string[];
}

export interface ProbeContext {
	readonly tags: TraceTags;
	/** The other rows, beginning with the one that follows. */
	readonly others: readonly ProbeRow[];
}

/** One completion that a probe tries on a row. */
export interface ProbeAttempt {
	readonly completion: string;
	/** Default: false. */
	readonly truncated?: boolean;
	/** In place of the row's prompt. */
	readonly prompt?: string;
	/** In place of the row's gold answer; present and undefined counts as absent. */
	readonly answer?: unknown;
}

/** Why a row gives a probe nothing to try, as one sentence. */
export interface ProbeSkip {
	readonly skip: string;
}

/**
 * What a probe tries to get without having earned it.
 * - `content`: the pay for a right answer, with none, a wrong one, or many. A reward of form alone pays for the form of such
 *   a completion by design, so it is not judged on these.
 * - `form`: the pay for good form, with bad form and the right answer. A reward of answers alone pays for the answer by
 *   design, so it is not judged on these.
 * - `any`: neither an answer nor the form is there.
 */
export type ProbeTarget = 'content' | 'form' | 'any';

export interface Probe {
	/** Stable: findings, tests and settings name it. */
	readonly id: string;
	readonly title: string;
	readonly severity: (typeof auditSeverities)[number];
	readonly attacks: ProbeTarget;
	/** Why an honest reward must not pay it as much as an honest correct answer. */
	readonly why: string;
	/** The likely fix of a reward that does, one or two sentences. */
	readonly fix: string;
	/** Rows tried at most (default: all): completions that are long, or that may take a reward's whole time limit. */
	readonly mostRows?: number;
	/** It can only be held by a reward that is told whether a completion was cut off. */
	readonly seesTruncation?: boolean;
	/** Its completions may take a reward's whole time limit: each is scored by itself. */
	readonly alone?: boolean;
	/**
	 * How many of a row's attempts must be paid for the row to be fooled: `some` (default), or `every` where a reward that
	 * pays just one of them only reads the completion in its own consistent way.
	 */
	readonly needs?: 'some' | 'every';
	/** It can only be tried on a reward that asks a model. */
	readonly asksModel?: boolean;
	build(row: ProbeRow, context: ProbeContext): readonly ProbeAttempt[] | ProbeSkip;
}

/** A probe of the audit, with what findings of its family come from: they are listed together. */
export interface AuditProbe extends Probe {
	readonly cause: string;
}

export const skip = (reason: string): ProbeSkip => ({ skip: reason });

/** Completions as attempts. */
export const attempts = (...completions: readonly string[]): ProbeAttempt[] =>
	completions.map((completion) => ({ completion }));
