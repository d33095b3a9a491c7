import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import {
	isOpen,
	type RowMarks,
	rowTest,
	type SortKey,
	sortedRows,
	sortKey,
} from '../../core/dataset/table/rowFilter.ts';
import type { RowValue } from '../../core/dataset/table/tableRow.ts';
import type { RowFilter, RowSort } from '../../protocol/datasetMessages.ts';
import type { DataTable, OnWalk } from './dataTable.ts';

/** Sort keys for more rows than this do not fit in memory. */
export const maxSorted = 1_000_000;

/**
 * Returns the row numbers that match a filter, sorted by a column, or null for all rows in file order. Unreadable rows
 * are skipped. Fails with `cancelled`, and with `unsupported` if there are too many rows to sort.
 */
export async function walkView(
	table: DataTable,
	filter: RowFilter,
	sort: RowSort | null,
	{
		marks,
		complete,
		signal,
		onWalk,
	}: {
		/**
		 * `marks` returns the information known about a row; `complete` returns the row with that information added.
		 */
		marks: (row: number, value: RowValue) => RowMarks;
		complete: (value: RowValue) => RowValue;
		signal?: AbortSignalLike;
		onWalk?: OnWalk;
	},
): Promise<readonly number[] | null> {
	if (isOpen(filter) && sort === null) return null;
	const passes = rowTest(filter);
	const rows: number[] = [];
	const keys: SortKey[] = [];
	for await (const { row, value } of table.scan(signal, onWalk)) {
		if (value === null) continue;
		const whole = complete(value);
		if (!passes(whole, marks(row, whole))) continue;
		rows.push(row);
		if (sort === null) continue;
		if (rows.length > maxSorted) {
			throw new Failure('unsupported', `Cannot sort more than ${maxSorted} rows.`, 'Filter them first.');
		}
		keys.push(sortKey(Object.hasOwn(whole, sort.column) ? whole[sort.column] : null));
	}
	return sort === null ? rows : sortedRows(rows, keys, sort.descending);
}
