import { Failure } from '../../base/failure.ts';
import { type DatasetColumns, parseDatasetRow } from '../../core/dataset/datasetRows.ts';
import type { Problem } from '../../core/dataset/problem.ts';
import type { TableRow } from '../../core/dataset/table/tableRow.ts';

export interface ProblemReading {
	/** Display name of the file. */
	readonly name: string;
	/**
	 * Returns the action to suggest when the column with a given role is missing, for callers whose users do not write
	 * recipes.
	 */
	readonly nameColumn?: (role: string) => string;
}

/** Returns the problem in a row as recipes read it. Fails with `invalid` if there is none. */
export function problemOf(read: TableRow, columns: DatasetColumns, { name, nameColumn }: ProblemReading): Problem {
	const parsed = read.value === null ? null : parseDatasetRow(read.value, read.row + 1, columns);
	if (parsed?.kind === 'row' && read.bare !== true) return parsed.problem;
	const fault = parsed?.kind === 'fault' ? parsed.fault : null;
	const why = read.bare ? 'is not a JSON object' : (fault?.message ?? read.fault ?? 'cannot be read');
	const action = read.bare
		? 'Write one JSON object per line.'
		: fault?.missing !== undefined && nameColumn
			? nameColumn(fault.missing)
			: (fault?.action ?? read.action);
	throw new Failure('invalid', `${name}, ${placeOf(read)}, ${why}.`, action);
}

/** Returns a row's location in its file: a line number, or a row number in formats without lines. */
export function placeOf({ row, line }: TableRow): string {
	return line === undefined ? `row ${row + 1}` : `line ${line}`;
}
