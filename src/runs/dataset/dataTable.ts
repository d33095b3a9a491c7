import type { AbortSignalLike } from '../../base/async.ts';
import type { TableFormat, TableRow } from '../../core/dataset/table/tableRow.ts';

/** Progress of a pass over a table, in the table's own unit. */
export type OnWalk = (done: number, total: number) => void;

/** Rows that are read from their source in chunks: a file or a generator. */
export interface DataTable {
	readonly format: TableFormat;
	/** Size in bytes; null if generated. */
	readonly size: number | null;
	/** Changes when the file is replaced or modified. */
	readonly stamp: string;
	/** Number of rows found so far; the total once `complete`. */
	readonly rowCount: number;
	readonly complete: boolean;
	/** Locates all rows. Fails with `cancelled`. */
	index(signal?: AbortSignalLike, onWalk?: OnWalk): Promise<void>;
	/** Returns the known rows from `from` to `to` (exclusive), or fewer if there are not enough. */
	rows(from: number, to: number): Promise<TableRow[]>;
	/** Yields all rows in order. Fails with `cancelled`. */
	scan(signal?: AbortSignalLike, onWalk?: OnWalk): AsyncGenerator<TableRow>;
	close(): Promise<void>;
}
