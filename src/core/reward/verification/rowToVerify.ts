import type { ScoreError, ScoreRow } from '../../../protocol/scorer.ts';
import type { Expectation, RowSource, VerifiedRow } from '../../../protocol/verification.ts';
import { goldText } from '../../dataset/answer.ts';
import { meetsExpectation } from './labelledCase.ts';

/** A row that a verification scores, and what is known of it beforehand. */
export interface RowToVerify {
	readonly source: RowSource;
	/** As in {@link VerifiedRow.label}. */
	readonly label: string;
	/** Rows of a group answer the same prompt; null: alone. Unique within the verification. */
	readonly group: number | null;
	/** Rows of the same batch are sent together, in their order: a reward may look at its neighbors. */
	readonly batch: number;
	readonly row: ScoreRow;
	readonly expect?: Expectation;
	/** Of a rollout: what the run recorded, by the rewards' names. */
	readonly recorded?: Readonly<Record<string, number | null>>;
	readonly place?: { readonly file: string; readonly line: number };
	/** Of a rollout: which one of its run. */
	readonly rollout?: { readonly step: number; readonly group: number; readonly index: number };
}

/** The scored row, as editor, panel and command line draw it. */
export function verifiedRow(
	asked: RowToVerify,
	scored: {
		/** Under which the run recorded the reward. */
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

/** An error of a batch's row without its place in the batch. */
export function rowError({ kind, message, stack, line }: ScoreError): NonNullable<VerifiedRow['error']> {
	return { kind, message, ...(stack === undefined ? {} : { stack }), ...(line === undefined ? {} : { line }) };
}
