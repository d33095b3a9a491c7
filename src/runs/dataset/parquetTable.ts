import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { rowOfValue, type TableRow } from '../../core/dataset/table/tableRow.ts';
import type { OpenedFile } from '../importers/openedFile.ts';
import { ParquetFile } from '../importers/parquetFile.ts';
import { Turns } from '../importers/turns.ts';
import type { DataTable, OnWalk } from './dataTable.ts';

const rowsAtOnce = 512;

/** A Parquet file: its row groups are decoded in the decoding thread when rows of them are asked for. */
export class ParquetTable implements DataTable {
	readonly format = 'parquet';
	readonly size: number;
	readonly stamp: string;
	readonly rowCount: number;
	readonly complete = true;
	/** Names of the columns, also where there is no row. */
	readonly columns: readonly string[];
	readonly #file: ParquetFile;
	readonly #groups: readonly number[];

	private constructor(file: ParquetFile, groups: readonly number[], columns: readonly string[]) {
		this.#file = file;
		this.#groups = groups;
		this.columns = columns;
		this.size = file.size;
		this.stamp = file.stamp;
		this.rowCount = groups.reduce((sum, rows) => sum + rows, 0);
	}

	/** Fails with `corrupt` for what is no Parquet. @param name for people */
	static async open(opened: OpenedFile, name: string): Promise<ParquetTable> {
		const file = new ParquetFile(opened);
		try {
			const { groups, columns } = await file.shape();
			return new ParquetTable(file, groups, columns);
		} catch (error) {
			const words = error instanceof Error ? error.message : String(error);
			throw new Failure(
				'corrupt',
				`${name} is not Parquet that is read: ${words}.`,
				'See whether it was written to its end.',
			);
		}
	}

	index(): Promise<void> {
		return Promise.resolve();
	}

	async rows(from: number, to: number): Promise<TableRow[]> {
		const rows: TableRow[] = [];
		let start = 0;
		for (const count of this.#groups) {
			const end = start + count;
			const first = Math.max(from, start);
			const last = Math.min(to, end);
			if (first < last) rows.push(...(await this.#read(first, last)));
			start = end;
		}
		return rows;
	}

	async *scan(signal?: AbortSignalLike, onWalk?: OnWalk): AsyncGenerator<TableRow> {
		const turns = new Turns(signal);
		for (let from = 0; from < this.rowCount; from += rowsAtOnce) {
			for (const row of await this.rows(from, Math.min(this.rowCount, from + rowsAtOnce))) {
				yield row;
				if (turns.due) await turns.pass();
			}
			await turns.pass();
			onWalk?.(Math.min(this.rowCount, from + rowsAtOnce), this.rowCount);
		}
	}

	close(): Promise<void> {
		return this.#file.close();
	}

	/** Rows of one group; those of a damaged one are faults. */
	async #read(from: number, to: number): Promise<TableRow[]> {
		try {
			return (await this.#file.rows(from, to)).map((value, i) => ({
				row: from + i,
				value: rowOfValue(value),
				fault: null,
			}));
		} catch (error) {
			const fault = `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
			return Array.from({ length: to - from }, (_, i) => ({ row: from + i, value: null, fault }));
		}
	}
}
