import { flippedRows } from '../../../core/reward/comparison.ts';
import type { AuditReport } from '../../../protocol/audit.ts';
import type { ComparedRow, Comparison } from '../../../protocol/comparison.ts';
import type { Verification, VerifiedRow } from '../../../protocol/verification.ts';
import type {
	AuditContent,
	ComparedSummary,
	ComparisonContent,
	ResultPart,
	RowSummary,
	VerificationContent,
} from '../../../protocol/verificationMessages.ts';
import { resultParts } from '../../../protocol/verificationMessages.ts';
import type { FileVerification, RewardResults } from '../../rewards/fileVerification.ts';

/** Maximum length of list text and evidence, in characters. */
const shownCharacters = 160;
const evidenceCharacters = 8_000;
/** Maximum number of rows per message, because the process that creates messages also serves the editor. */
export const rowsAtOnce = 400;

const cut = (text: string, limit: number) => (text.length > limit ? text.slice(0, limit) : text);

export function rowSummary(row: VerifiedRow): RowSummary {
	const { source, label, group, prompt, completion, truncated, value, error, expect, passed, recorded, others } = row;
	return {
		source,
		label: cut(label, 500),
		group,
		prompt: cut(prompt, shownCharacters),
		completion: cut(completion, shownCharacters),
		size: completion.length,
		truncated,
		value,
		error: error === undefined ? null : cut(error.message.split('\n', 1)[0] ?? '', 300),
		...(expect === undefined ? {} : { expect }),
		...(passed === undefined ? {} : { passed }),
		...(recorded === undefined ? {} : { recorded }),
		others,
		hasPlace: row.place !== undefined,
	};
}

/** Returns the part to show: the chosen one if it has results, otherwise the first part that does. */
export function shownPart(results: RewardResults | null, chosen: ResultPart | null): ResultPart | null {
	if (results === null) return null;
	if (chosen !== null && results[chosen] !== null) return chosen;
	return resultParts.find((part) => results[part] !== null) ?? null;
}

/** Returns a verification with only its first rows. */
export function verificationContent(
	verification: Verification,
	shown: {
		readonly part: ResultPart;
		readonly results: RewardResults;
		readonly caseFaults: FileVerification['caseFaults'];
	},
): VerificationContent {
	const { data, remarks, statistics, rows, faults, coverage, logs, durationMs } = verification;
	const { part, results, caseFaults } = shown;
	return {
		view: 'verification',
		part,
		parts: resultParts.flatMap((one) => {
			const there = results[one];
			return there === null ? [] : [{ part: one, data: there.data.join(', ') || 'no data' }];
		}),
		data,
		remarks,
		statistics,
		rows: rows.slice(0, rowsAtOnce).map(rowSummary),
		total: rows.length,
		faults: [
			...faults.map(({ message, line }) => (line === undefined ? message : `Line ${line}: ${message}`)),
			...caseFaults.map(({ line, message }) => `Line ${line} of the case file is not a valid case: ${message}`),
		],
		coverage,
		printed: logs.length,
		durationMs,
	};
}

export function auditContent(report: AuditReport): AuditContent {
	const { data, remarks, rows, honest, probes, findings, durationMs } = report;
	return {
		view: 'audit',
		data,
		remarks,
		rows,
		honest,
		probes,
		findings: findings.map((finding) => ({
			...finding,
			evidence: finding.evidence.map(({ prompt, answer, completion, given, value, honest: fair }) => ({
				prompt: cut(prompt, evidenceCharacters),
				answer,
				completion: cut(completion, evidenceCharacters),
				size: completion.length,
				value,
				honest: fair,
				whole: given !== undefined,
			})),
		})),
		durationMs,
	};
}

export function comparedSummary(row: ComparedRow, flipped: boolean): ComparedSummary {
	const { step, group, index, prompt, completion, truncated, before, after, advantageBefore, advantageAfter } = row;
	return {
		step,
		group,
		index,
		prompt: cut(prompt, shownCharacters),
		completion: cut(completion, shownCharacters),
		size: completion.length,
		truncated,
		before,
		after,
		advantageBefore,
		advantageAfter,
		flipped,
		error: row.error === undefined ? null : cut(row.error, 300),
	};
}

/** Returns brief summaries of all rows in a comparison. */
export function comparedSummaries({ rows }: Comparison): ComparedSummary[] {
	const flipped = flippedRows(rows);
	return rows.map((row, i) => comparedSummary(row, flipped[i] as boolean));
}

export function comparisonContent(comparison: Comparison, rows: readonly ComparedSummary[]): ComparisonContent {
	const { before, after, run, steps, groups, summary, remarks } = comparison;
	return {
		view: 'comparison',
		before,
		after,
		run: run.split(/[\\/]/).at(-1) ?? run,
		steps,
		rows: rows.slice(0, rowsAtOnce),
		total: rows.length,
		groups,
		summary,
		remarks,
	};
}
