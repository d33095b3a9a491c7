import type { AbortSignalLike } from '../../base/async.ts';
import { checkAborted } from '../../base/async.ts';
import type { RowValue, TableRow } from '../../core/dataset/table/tableRow.ts';
import { AtomicLines } from '../../files/atomicLines.ts';
import { formatLine } from '../../files/jsonLines.ts';
import type { DataTable, OnWalk } from './dataTable.ts';

const rowsAtOnce = 256;

/** Returns known rows by number, in the given order; adjacent rows are read together. */
export async function rowsOf(table: DataTable, numbers: readonly number[]): Promise<TableRow[]> {
	const rows: TableRow[] = [];
	for (let i = 0; i < numbers.length; ) {
		let end = i + 1;
		// Bridge gaps that are shorter than the minimum read size.
		while (end < numbers.length && near(numbers[end - 1] as number, numbers[end] as number)) end++;
		const wanted = new Set(numbers.slice(i, end));
		const read = await table.rows(numbers[i] as number, (numbers[end - 1] as number) + 1);
		rows.push(...read.filter(({ row }) => wanted.has(row)));
		i = end;
	}
	return rows;
}

const near = (before: number, after: number): boolean => after > before && after - before <= 32;

/**
 * Writes rows to a JSONL file atomically. Fails with `exists`, `denied`, `full` or `cancelled`.
 * @param numbers row numbers in output order; null for all rows
 * @returns the number of rows written; unreadable rows are skipped
 */
export async function exportRows(
	table: DataTable,
	numbers: readonly number[] | null,
	path: string,
	{
		replace,
		line,
		signal,
		onWalk,
	}: {
		replace: boolean /** null skips the row. */;
		line: (value: RowValue) => RowValue | null;
		signal?: AbortSignalLike;
		onWalk?: OnWalk;
	},
): Promise<{ readonly rows: number; readonly bytes: number; readonly leftOut: number }> {
	const file = await AtomicLines.open(path, { replace });
	let rows = 0;
	let leftOut = 0;
	const write = async ({ value }: TableRow) => {
		const written = value === null ? null : line(value);
		if (written === null) leftOut++;
		else {
			rows++;
			await file.append(formatLine(written));
		}
	};
	try {
		if (numbers === null) for await (const row of table.scan(signal, onWalk)) await write(row);
		else {
			for (let from = 0; from < numbers.length; from += rowsAtOnce) {
				checkAborted(signal);
				for (const row of await rowsOf(table, numbers.slice(from, from + rowsAtOnce))) await write(row);
				onWalk?.(Math.min(numbers.length, from + rowsAtOnce), numbers.length);
			}
		}
		checkAborted(signal);
		await file.commit();
		return { rows, bytes: file.bytes, leftOut };
	} finally {
		await file.discard();
	}
}
