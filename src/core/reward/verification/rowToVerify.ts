import type { ScoreError, ScoreRow } from '../../../protocol/scorer.ts';
import type { Expectation, RowSource, VerifiedRow } from '../../../protocol/verification.ts';
import { goldText } from '../../dataset/answer.ts';
import { meetsExpectation } from './labeledCase.ts';

/** Row to be scored for verification, with its metadata. */
export interface RowToVerify {
	readonly source: RowSource;
	/** See {@link VerifiedRow.label}. */
	readonly label: string;
	/** Group number, unique within the verification. Rows in a group share a prompt; null for rows without a group. */
	readonly group: number | null;
	/** Batch number. Rows in a batch are scored together and in order, because a reward can depend on other rows. */
	readonly batch: number;
	readonly row: ScoreRow;
	readonly expect?: Expectation;
	/** Recorded values by reward name; only for rollouts. */
	readonly recorded?: Readonly<Record<string, number | null>>;
	readonly place?: { readonly file: string; readonly line: number };
	/** Position in the run; only for rollouts. */
	readonly rollout?: { readonly step: number; readonly group: number; readonly index: number };
}

/** Builds the scored row shown in the editor, panel and CLI. */
export function verifiedRow(
	asked: RowToVerify,
	scored: {
		/** Name of the reward as recorded in the run. */
		readonly reward: string;
		readonly value: number | null;
		readonly error?: ScoreError;
		readonly others: Readonly<Record<string, number | null>>;
	},
): VerifiedRow {
	const { row, source, label, group, expect, recorded, place, rollout } = asked;
	const { value, error } = scored;
	const was = recorded !== undefined && Object.hasOwn(recorded, scored.reward) ? recorded[scored.reward] : undefined;
	return {
		source,
		label,
		group,
		prompt: row.prompt,
		completion: row.completion,
		answer: goldText(row.answer),
		truncated: row.truncated,
		value: error ? null : value,
		...(error ? { error: rowError(error) } : {}),
		...(expect === undefined ? {} : { expect, passed: !error && meetsExpectation(value, expect) }),
		...(was === undefined ? {} : { recorded: was }),
		others: { ...scored.others },
		...(place ? { place: { ...place } } : {}),
		...(rollout ? { rollout: { ...rollout } } : {}),
	};
}

/** Returns a row's error without its position in the batch. */
export function rowError({ kind, message, stack, line }: ScoreError): NonNullable<VerifiedRow['error']> {
	return { kind, message, ...(stack === undefined ? {} : { stack }), ...(line === undefined ? {} : { line }) };
}
