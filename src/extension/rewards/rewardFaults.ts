import { describeExpectation } from '../../core/reward/verification/labeledCase.ts';
import type { Verification, VerifiedRow } from '../../protocol/verification.ts';
import { LoadFailure } from '../../rewards/loadFailure.ts';
import { displayText } from '../runView.ts';
import { type FileVerification, resultsOf } from './fileVerification.ts';
import { valueWords } from './rewardWords.ts';

/** A fault to show as a diagnostic. */
export interface RewardFault {
	/** Absolute. */
	readonly file: string;
	/** 1-based line; null for the signature of `reward`. */
	readonly line: number | null;
	readonly reward: string | null;
	readonly level: 'error' | 'warning';
	readonly message: string;
	/** Location of the first row with this fault. */
	readonly row?: { readonly label: string; readonly file: string; readonly line: number };
}

/** Faults of the same type on the same line, merged into one with the number of affected rows. */
interface Shown {
	readonly line: number | null;
	readonly message: string;
	readonly first: VerifiedRow | null;
	rows: number;
}

/** Maximum number of distinct faults per reward; more would not be helpful. */
const maxFaults = 50;

/** Returns the faults found by a verification, located in the reward file, its imports, or its cases. */
export function faultsOf(state: FileVerification): RewardFault[] {
	const faults: RewardFault[] = [];
	if (state.phase === 'failed' && state.failure !== null) {
		const { failure } = state;
		const place = failure instanceof LoadFailure ? failure : null;
		const words = place === null ? failure.toString() : `${place.detail.replace(/[.]?$/, '.')} ${place.advice ?? ''}`;
		const message = displayText(words.trim(), 600);
		faults.push({
			file: place?.file ?? state.file,
			line: place?.line ?? (place === null ? null : 1),
			reward: null,
			level: 'error',
			message,
		});
		return faults;
	}
	for (const { file, line, message, action } of state.caseFaults) {
		const words = displayText(`This line ${message}. ${action}`, 600);
		faults.push({ file, line, reward: null, level: 'warning', message: words });
	}
	for (const [reward, results] of state.results) {
		for (const verification of resultsOf(results)) {
			faults.push(...errorsOf(state.file, reward, verification), ...casesOf(reward, verification));
		}
	}
	return faults;
}

function errorsOf(file: string, reward: string, { rows, faults }: Verification): RewardFault[] {
	const shown = new Map<string, Shown>();
	const add = (error: NonNullable<VerifiedRow['error']>, row: VerifiedRow | null): void => {
		const line = error.line ?? null;
		const key = `${line} ${error.kind} ${error.message}`;
		const known = shown.get(key);
		if (known !== undefined) {
			if (known.first === null && row !== null) shown.set(key, { ...known, first: row, rows: 1 });
			else known.rows++;
		} else if (shown.size < maxFaults) {
			shown.set(key, { line, message: error.message, first: row, rows: row === null ? 0 : 1 });
		}
	};
	for (const fault of faults) add(fault, null);
	for (const row of rows) if (row.error !== undefined) add(row.error, row);
	return [...shown.values()].map(({ line, message, first, rows: count }) => {
		const more = count > 1 ? `, and ${count - 1} more ${count === 2 ? 'row' : 'rows'}` : '';
		const where = first === null ? 'on the batch' : `on ${displayText(first.label, 120)}${more}`;
		const words = displayText(message, 400).replace(/[.]$/, '');
		return {
			file,
			line,
			reward,
			level: 'error',
			message: `${words} (${reward} ${where})`,
			...(first?.place === undefined ? {} : { row: { label: displayText(first.label, 120), ...first.place } }),
		};
	});
}

function casesOf(reward: string, { rows }: Verification): RewardFault[] {
	return rows.flatMap((row) => {
		if (row.passed !== false || row.place === undefined) return [];
		const expected = row.expect === undefined ? '' : ` Expected: ${describeExpectation(row.expect)}.`;
		const { file, line } = row.place;
		const happens =
			row.error === undefined
				? `gives ${valueWords(row)} here.`
				: `fails here: ${displayText(row.error.message, 200).replace(/[.]?$/, '.')}`;
		return [{ file, line, reward, level: 'warning' as const, message: `${reward} ${happens}${expected}` }];
	});
}
