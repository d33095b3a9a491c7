import type { AbortSignalLike } from '../../base/async.ts';
import type { TableFormat, TableRow } from '../../core/dataset/table/tableRow.ts';

/** How far a walk over a table has come, in the table's own unit. */
export type OnWalk = (done: number, total: number) => void;

/** Rows that are read where they lie, in portions: a file, or a generator. */
export interface DataTable {
	readonly format: TableFormat;
	/** Bytes; null: it is generated. */
	readonly size: number | null;
	/** Changes when the file is replaced or written to. */
	readonly stamp: string;
	/** Rows known so far; all of them once it is `complete`. */
	readonly rowCount: number;
	readonly complete: boolean;
	/** Finds where all rows are. Fails with `cancelled`. */
	index(signal?: AbortSignalLike, onWalk?: OnWalk): Promise<void>;
	/** Known rows `from` to `to` (excluded), or fewer where there are none. */
	rows(from: number, to: number): Promise<TableRow[]>;
	/** All rows in their order. Fails with `cancelled`. */
	scan(signal?: AbortSignalLike, onWalk?: OnWalk): AsyncGenerator<TableRow>;
	close(): Promise<void>;
}
