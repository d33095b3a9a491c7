import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { rowOfValue, type TableRow } from '../../core/dataset/table/tableRow.ts';
import type { OpenedFile } from '../../files/openedFile.ts';
import { Turns } from '../../files/turns.ts';
import { DecodedFile } from '../importers/decodedFile.ts';
import type { ColumnarFormat } from '../importers/decoding/decodingMessages.ts';
import type { DataTable, OnWalk } from './dataTable.ts';

const rowsAtOnce = 512;
/**
 * Maximum number of attempts per failing group. Each attempt can take seconds, and a group can have thousands of
 * chunks.
 */
const maxTries = 3;

/** A Parquet or Arrow file. Its row groups are decoded on demand in the decoding thread. */
export class ColumnarTable implements DataTable {
	readonly format: ColumnarFormat;
	readonly size: number;
	readonly stamp: string;
	readonly rowCount: number;
	readonly complete = true;
	/** Column names, available even if there are no rows. */
	readonly columns: readonly string[];
	readonly #file: DecodedFile;
	readonly #groups: readonly number[];
	/** Errors of groups that could not be read. */
	readonly #faults = new Map<number, { readonly fault: string; readonly times: number }>();

	private constructor(
		format: ColumnarFormat,
		file: DecodedFile,
		groups: readonly number[],
		columns: readonly string[],
	) {
		this.format = format;
		this.#file = file;
		this.#groups = groups;
		this.columns = columns;
		this.size = file.file.size;
		this.stamp = file.file.stamp;
		this.rowCount = groups.reduce((sum, rows) => sum + rows, 0);
	}

	/**
	 * Fails with `corrupt` if the file is not in the expected format.
	 * @param name display name
	 */
	static async open(opened: OpenedFile, name: string, format: ColumnarFormat): Promise<ColumnarTable> {
		const file = new DecodedFile(opened, format);
		try {
			const { groups, columns } = await file.shape();
			return new ColumnarTable(format, file, groups, columns);
		} catch (error) {
			const words = error instanceof Error ? error.message : String(error);
			throw new Failure(
				'corrupt',
				`Cannot read ${name} as ${format === 'arrow' ? 'Arrow' : 'Parquet'}: ${words}.`,
				format === 'arrow'
					? 'Check that the file is complete, or convert it to Parquet.'
					: 'Check that the file is complete.',
			);
		}
	}

	index(): Promise<void> {
		return Promise.resolve();
	}

	async rows(from: number, to: number): Promise<TableRow[]> {
		const rows: TableRow[] = [];
		let start = 0;
		for (const [group, count] of this.#groups.entries()) {
			const end = start + count;
			const first = Math.max(from, start);
			const last = Math.min(to, end);
			for (let at = first; at < last; ) {
				const read = await this.#read(group, at, last);
				rows.push(...read);
				at += read.length;
			}
			start = end;
		}
		return rows;
	}

	async *scan(signal?: AbortSignalLike, onWalk?: OnWalk): AsyncGenerator<TableRow> {
		const turns = new Turns(signal);
		let end = 0;
		for (const [group, count] of this.#groups.entries()) {
			end += count;
			for (let from = end - count; from < end; ) {
				const rows = await this.#read(group, from, Math.min(end, from + rowsAtOnce));
				for (const row of rows) {
					yield row;
					if (turns.due) await turns.pass();
				}
				from += rows.length;
				await turns.pass();
				onWalk?.(from, this.rowCount);
			}
		}
	}

	close(): Promise<void> {
		return this.#file.file.close();
	}

	/** Reads at least one row from a single group; rows in a damaged group become faults. */
	async #read(group: number, from: number, to: number): Promise<TableRow[]> {
		const known = this.#faults.get(group);
		const failed = (fault: string): TableRow[] =>
			Array.from({ length: to - from }, (_, i) => ({ row: from + i, value: null, fault }));
		if (known !== undefined && known.times >= maxTries) return failed(known.fault);
		try {
			const values = await this.#file.rows(from, to);
			if (values.length === 0) throw new Error('rows are missing');
			return values.map((value, i) => ({ row: from + i, value: rowOfValue(value), fault: null }));
		} catch (error) {
			const fault = `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
			this.#faults.set(group, { fault, times: (known?.times ?? 0) + 1 });
			return failed(fault);
		}
	}
}
