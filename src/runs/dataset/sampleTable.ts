import { ColumnFinder, type TableColumn } from '../../core/dataset/table/tableColumns.ts';
import { cellText, type RowValue } from '../../core/dataset/table/tableRow.ts';
import { ColumnarTable } from './columnarTable.ts';
import type { DataTable } from './dataTable.ts';
import { PartsTable } from './partsTable.ts';

/** Number of rows to sample before anything is displayed, limited by time and size. */
const sampled = { rows: 200, ms: 250, bytes: 16 << 20 } as const;

/** Determines the columns from the first rows. */
export async function sampleTable(table: DataTable): Promise<{ columns: TableColumn[]; values: RowValue[] }> {
	const finder = new ColumnFinder({ textNumbers: table.format === 'csv' || table.format === 'tsv' });
	const values: RowValue[] = [];
	const until = performance.now() + sampled.ms;
	let [rows, bytes] = [0, 0];
	for await (const { value } of table.scan()) {
		if (value !== null) {
			finder.add(value);
			values.push(value);
			for (const cell of Object.values(value)) bytes += cellText(cell).length;
		}
		if (++rows >= sampled.rows || bytes > sampled.bytes || performance.now() > until) break;
	}
	const { columns } = finder;
	if (columns.length === 0 && (table instanceof ColumnarTable || table instanceof PartsTable)) {
		return { columns: table.columns.map((name) => ({ name, type: 'empty', length: 0 })), values };
	}
	return { columns, values };
}
