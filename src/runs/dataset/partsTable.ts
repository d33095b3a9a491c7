import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { TableRow } from '../../core/dataset/table/tableRow.ts';
import { OpenedFile } from '../../files/openedFile.ts';
import { ColumnarTable } from './columnarTable.ts';
import type { DataTable, OnWalk } from './dataTable.ts';
import { savedParts } from './savedFolder.ts';

/** Maximum number of parts, limited because each part is an open file. */
const maxParts = 500;
const splitNames = ['train', 'training', 'test', 'validation', 'valid', 'val', 'dev', 'eval'];

/** The files in a folder as one table: Parquet files by name, or Arrow files in `save_to_disk` order. */
export class PartsTable implements DataTable {
	readonly format: ColumnarTable['format'];
	readonly size: number;
	readonly stamp: string;
	readonly rowCount: number;
	readonly complete = true;
	readonly columns: readonly string[];
	readonly #parts: readonly ColumnarTable[];

	private constructor(parts: readonly ColumnarTable[]) {
		this.format = parts[0]?.format ?? 'parquet';
		this.#parts = parts;
		this.size = parts.reduce((sum, part) => sum + part.size, 0);
		this.stamp = parts.map(({ stamp }) => stamp).join(' ');
		this.rowCount = parts.reduce((sum, part) => sum + part.rowCount, 0);
		this.columns = [...new Set(parts.flatMap(({ columns }) => columns))];
	}

	/** Fails with the same errors as {@link partsOf} and `ColumnarTable.open`. */
	static async open(folder: string): Promise<PartsTable> {
		const parts: ColumnarTable[] = [];
		try {
			for (const path of await partsOf(folder)) {
				const file = await OpenedFile.chosen(path);
				try {
					const format = isParquet(basename(path)) ? 'parquet' : 'arrow';
					parts.push(await ColumnarTable.open(file, basename(path), format));
				} catch (error) {
					await file.close();
					throw error;
				}
			}
			return new PartsTable(parts);
		} catch (error) {
			await Promise.all(parts.map((part) => part.close()));
			throw error;
		}
	}

	index(): Promise<void> {
		return Promise.resolve();
	}

	async rows(from: number, to: number): Promise<TableRow[]> {
		const rows: TableRow[] = [];
		let start = 0;
		for (const part of this.#parts) {
			const end = start + part.rowCount;
			if (from < end && to > start) {
				for (const row of await part.rows(Math.max(from, start) - start, Math.min(to, end) - start)) {
					rows.push({ ...row, row: start + row.row });
				}
			}
			start = end;
		}
		return rows;
	}

	async *scan(signal?: AbortSignalLike, onWalk?: OnWalk): AsyncGenerator<TableRow> {
		let start = 0;
		for (const part of this.#parts) {
			const before = start;
			for await (const row of part.scan(signal, (done) => onWalk?.(before + done, this.rowCount))) {
				yield { ...row, row: before + row.row };
			}
			start += part.rowCount;
		}
	}

	async close(): Promise<void> {
		await Promise.all(this.#parts.map((part) => part.close()));
	}
}

/**
 * Returns the paths of the Parquet files in a folder, or of the Arrow files written by `save_to_disk`. Fails with
 * `invalid` if there are none, or if they belong to several splits, so that a test set in the same folder is never
 * trained on. Also fails with the same errors as {@link savedParts}.
 */
export async function partsOf(folder: string): Promise<string[]> {
	const name = basename(folder);
	const entries = await readdir(folder).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read the folder ${name}`);
	});
	const saved = await savedParts(folder, entries);
	const names = saved === null ? entries.filter(isParquet).toSorted() : [];
	const count = saved?.length ?? names.length;
	if (count === 0) {
		throw new Failure(
			'invalid',
			`${name} contains neither Parquet files nor a dataset written by save_to_disk.`,
			'Use a file, or a folder of Parquet files.',
		);
	}
	if (count > maxParts) {
		throw new Failure(
			'unsupported',
			`${name} contains ${count} dataset files; the limit is ${maxParts}.`,
			'Save the dataset as fewer, larger files.',
		);
	}
	if (saved !== null) return saved;
	const sets = [...new Set(names.map(setOf))];
	if (sets.length > 1 && sets.some((set) => splitNames.includes(set.toLowerCase()))) {
		throw new Failure(
			'invalid',
			`${name} contains files from several splits (${sets.slice(0, 5).join(', ')}).`,
			'Use the file for one split, or move each split to its own folder.',
		);
	}
	return names.map((one) => join(folder, one));
}

const isParquet = (name: string): boolean => /^[^._].*\.parquet$/i.test(name);

/** Returns the common part of the file names in a set: "train" for "train-00000-of-00003.parquet". */
function setOf(name: string): string {
	return name.replace(/\.parquet$/i, '').replace(/[-_.]?\d+([-_]of[-_]\d+)?$/, '');
}
