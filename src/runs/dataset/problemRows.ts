import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { type DatasetColumns, parseDatasetRow } from '../../core/dataset/datasetRows.ts';
import type { Problem } from '../../core/dataset/problem.ts';
import type { TableRow } from '../../core/dataset/table/tableRow.ts';
import type { DataTable, OnWalk } from './dataTable.ts';

/** The problems of a table as recipes read them. Fails with `invalid` at the first row that is none, and with `cancelled`. */
export async function* problemRows(
	table: DataTable,
	columns: DatasetColumns,
	{
		name,
		signal,
		onWalk,
		advice = (action) => action,
	}: {
		/** Of the file, for people. */
		readonly name: string;
		readonly signal?: AbortSignalLike | undefined;
		readonly onWalk?: OnWalk | undefined;
		/** What to do about a row, where it is not what a recipe's author would do. */
		readonly advice?: (action: string | undefined) => string | undefined;
	},
): AsyncGenerator<{ readonly row: number; readonly problem: Problem }> {
	for await (const read of table.scan(signal, onWalk)) {
		const parsed = read.value === null ? null : parseDatasetRow(read.value, read.row + 1, columns);
		if (parsed?.kind === 'row' && read.bare !== true) {
			yield { row: read.row, problem: parsed.problem };
			continue;
		}
		const fault = parsed?.kind === 'fault' ? parsed.fault : null;
		const why = read.bare ? 'is not a JSON object' : (fault?.message ?? read.fault ?? 'cannot be read');
		const action = read.bare ? 'Write one JSON object on each line.' : (fault?.action ?? read.action);
		throw new Failure('invalid', `${name}, ${placeOf(read)}, ${why}.`, advice(action));
	}
}

/** Where a row stands, as its file counts. */
export function placeOf({ row, line }: TableRow): string {
	return line === undefined ? `row ${row + 1}` : `line ${line}`;
}
