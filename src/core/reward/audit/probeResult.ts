import type { AuditFinding, ProbeOutcome } from '../../../protocol/audit.ts';
import type { VerifiedRow } from '../../../protocol/verification.ts';
import type { AuditProbe, Probe } from './probe.ts';
import { type RewardBaseline, valueTolerance } from './rewardBaseline.ts';

type RowError = NonNullable<VerifiedRow['error']>;

/** A probe attempt and its result. */
export interface TriedAttempt {
	readonly prompt: string;
	readonly answer: string | null;
	readonly completion: string;
	readonly truncated: boolean;
	/**
	 * Gold answer as given, and the row's columns. null if these, together with the prompt and completion, do not fully
	 * describe the attempt.
	 */
	readonly given: { readonly answer: unknown; readonly row: Readonly<Record<string, unknown>> } | null;
	readonly value: number | null;
	readonly error?: RowError;
}

/** A row on which a probe was tried. */
export interface TriedRow {
	/** Score of the honest correct answer on this row. */
	readonly honest: number;
	readonly attempts: readonly TriedAttempt[];
}

export interface ProbeResult {
	readonly outcome: ProbeOutcome;
	/** null unless the outcome is a finding. */
	readonly finding: AuditFinding | null;
}

const maxEvidence = 5;
/** Maximum length of each evidence string, in characters. */
const longestEvidence = 4000;

function clipped(text: string): string {
	return text.length <= longestEvidence
		? text
		: `${text.slice(0, longestEvidence / 2)} [... ${text.length - longestEvidence} more characters ...] ${text.slice(-longestEvidence / 2)}`;
}

/**
 * Returns the fields that a labeled case needs besides the prompt and completion; empty if the case would differ from
 * what was scored.
 */
function wholeOf({ given, prompt, completion }: TriedAttempt) {
	if (given === null) return {};
	const longest = Math.max(prompt.length, completion.length, JSON.stringify(given).length);
	return longest > longestEvidence ? {} : { given: { answer: given.answer, row: { ...given.row } } };
}

const isPaid = (attempt: TriedAttempt, honest: number) =>
	attempt.error === undefined && attempt.value !== null && attempt.value >= honest - valueTolerance;

/** Computes a probe's result from the rows it was tried on. */
export function probeResult(probe: AuditProbe, rows: readonly TriedRow[]): ProbeResult {
	const { id, title, severity, fix, cause } = probe;
	const fooled = rows.filter(({ honest, attempts }) =>
		probe.needs === 'every'
			? attempts.length > 0 && attempts.every((attempt) => isPaid(attempt, honest))
			: attempts.some((attempt) => isPaid(attempt, honest)),
	);
	const error = rows.flatMap(({ attempts }) => attempts).find((attempt) => attempt.error !== undefined)?.error;
	const counts = { probe: id, title, rows: rows.length, fooled: fooled.length };
	if (fooled.length === 0) {
		return error === undefined
			? { outcome: { ...counts, outcome: 'held' }, finding: null }
			: { outcome: { ...counts, outcome: 'error', detail: error.message, error }, finding: null };
	}
	const evidence = fooled
		.map(({ honest, attempts }) => {
			const paid = attempts.filter((attempt) => isPaid(attempt, honest));
			// The shortest completion best shows what was rewarded.
			const shortest = paid.reduce((a, b) => (b.completion.length < a.completion.length ? b : a));
			const { prompt, answer, completion, truncated, value } = shortest;
			return {
				prompt: clipped(prompt),
				answer,
				completion: clipped(completion),
				...(truncated ? { truncated: true as const } : {}),
				...wholeOf(shortest),
				value: value as number,
				honest,
			};
		})
		.sort((a, b) => b.value - b.honest - (a.value - a.honest) || a.completion.length - b.completion.length)
		.slice(0, maxEvidence);
	return {
		outcome: { ...counts, outcome: 'finding' },
		finding: { probe: id, title, cause, severity, rows: rows.length, fooled: fooled.length, evidence, fix },
	};
}

export function skippedProbe({ id, title }: Probe, detail: string): ProbeResult {
	return { outcome: { probe: id, title, outcome: 'skipped', rows: 0, fooled: 0, detail }, finding: null };
}

/**
 * Returns the reason a probe does not apply to a reward, based on what the reward distinguishes; null if it applies.
 */
export function targetSkip({ attacks }: Probe, { judges, rows }: RewardBaseline): string | null {
	if (rows.every(({ honest }) => honest === null)) return 'The reward returns no value for any correct answer.';
	if (attacks === 'content' && !judges.content)
		return 'The reward does not distinguish correct answers from wrong ones.';
	if (attacks === 'form' && !judges.form) return 'The reward does not depend on format.';
	if (!judges.content && !judges.form)
		return 'The reward distinguishes neither correct from wrong answers nor good from bad format.';
	return null;
}

const ranks = { high: 0, medium: 1, low: 2 } as const;

/** Sorts findings worst first: by severity, then by fraction of rows. */
export function sortFindings(findings: readonly AuditFinding[]): AuditFinding[] {
	return findings.toSorted(
		(a, b) =>
			ranks[a.severity] - ranks[b.severity] || b.fooled / b.rows - a.fooled / a.rows || (a.probe < b.probe ? -1 : 1),
	);
}
