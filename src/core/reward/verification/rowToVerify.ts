import type { ScoreError, ScoreRow } from '../../../protocol/scorer.ts';
import type { Expectation, RowSource, VerifiedRow } from '../../../protocol/verification.ts';
import { goldText } from '../../dataset/answer.ts';
import { meetsExpectation } from './labeledCase.ts';

/** A row to be scored by verification, with what is known about it. */
export interface RowToVerify {
	readonly source: RowSource;
	/** As in {@link VerifiedRow.label}. */
	readonly label: string;
	/** Rows of a group share a prompt; null: no group. Unique within the verification. */
	readonly group: number | null;
	/** Rows of a batch are sent together and in order, because a reward may look at other rows. */
	readonly batch: number;
	readonly row: ScoreRow;
	readonly expect?: Expectation;
	/** For rollouts: recorded values by reward name. */
	readonly recorded?: Readonly<Record<string, number | null>>;
	readonly place?: { readonly file: string; readonly line: number };
	/** For rollouts: its position in the run. */
	readonly rollout?: { readonly step: number; readonly group: number; readonly index: number };
}

/** The scored row, as shown in the editor, panel and command line. */
export function verifiedRow(
	asked: RowToVerify,
	scored: {
		/** Name under which the run recorded the reward. */
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

/** The error of a row, without its position in the batch. */
export function rowError({ kind, message, stack, line }: ScoreError): NonNullable<VerifiedRow['error']> {
	return { kind, message, ...(stack === undefined ? {} : { stack }), ...(line === undefined ? {} : { line }) };
}
