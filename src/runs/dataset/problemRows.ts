import { Failure } from '../../base/failure.ts';
import { type DatasetColumns, parseDatasetRow } from '../../core/dataset/datasetRows.ts';
import type { Problem } from '../../core/dataset/problem.ts';
import type { TableRow } from '../../core/dataset/table/tableRow.ts';

export interface ProblemReading {
	/** Of the file, for people. */
	readonly name: string;
	/** What to do about a row, where it is not what a recipe's author would do. */
	readonly advice?: (action: string | undefined) => string | undefined;
}

/** A row's problem as recipes read it. Fails with `invalid` where it is none. */
export function problemOf(
	read: TableRow,
	columns: DatasetColumns,
	{ name, advice = (action) => action }: ProblemReading,
): Problem {
	const parsed = read.value === null ? null : parseDatasetRow(read.value, read.row + 1, columns);
	if (parsed?.kind === 'row' && read.bare !== true) return parsed.problem;
	const fault = parsed?.kind === 'fault' ? parsed.fault : null;
	const why = read.bare ? 'is not a JSON object' : (fault?.message ?? read.fault ?? 'cannot be read');
	const action = read.bare ? 'Write one JSON object per line.' : (fault?.action ?? read.action);
	throw new Failure('invalid', `${name}, ${placeOf(read)}, ${why}.`, advice(action));
}

/** Where a row stands, as its file counts. */
export function placeOf({ row, line }: TableRow): string {
	return line === undefined ? `row ${row + 1}` : `line ${line}`;
}
