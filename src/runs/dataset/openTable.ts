import { stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { parseBoundedJson } from '../../base/boundedJson.ts';
import { Failure } from '../../base/failure.ts';
import { SeparatedSplits } from '../../core/dataset/table/recordSplitter.ts';
import { columnNames, guessDelimiter, parseSeparated } from '../../core/dataset/table/separatedValues.ts';
import { OpenedFile } from '../../files/openedFile.ts';
import { utf8Text } from '../../files/textEncoding.ts';
import { ColumnarTable } from './columnarTable.ts';
import type { DataTable } from './dataTable.ts';
import { PartsTable } from './partsTable.ts';
import { RecordTable, type SeparatedFormat } from './recordTable.ts';

/** Supported file extensions, without the dot. */
export const tableExtensions = ['jsonl', 'ndjson', 'json', 'csv', 'tsv', 'parquet', 'arrow'] as const;

/** Number of bytes at the start of a text file to read; the column names must fit in it. */
const headBytes = 1 << 20;

/**
 * Opens a data file, a folder of Parquet files, or a `save_to_disk` folder selected by the user. Fails with `missing`,
 * `invalid` (not a regular file, or not text), `unsupported` (a different extension or encoding) or `corrupt`.
 * @param anyName whether to read files with other extensions as JSON lines instead of rejecting them
 */
export async function openTable(path: string, { anyName = false } = {}): Promise<DataTable> {
	if ((await stat(path).catch(() => null))?.isDirectory()) return PartsTable.open(path);
	const name = basename(path);
	const extension = extname(path).slice(1).toLowerCase();
	if (!anyName && !(tableExtensions as readonly string[]).includes(extension)) {
		throw new Failure(
			'unsupported',
			`${name} has an unsupported file type. Supported: ${tableExtensions.join(', ')}.`,
			'Convert it first.',
		);
	}
	const file = await OpenedFile.chosen(path);
	try {
		if (extension === 'parquet' || extension === 'arrow') return await ColumnarTable.open(file, name, extension);
		const head = await file.read(0, Math.min(file.size, headBytes));
		const begin = textBegin(head, name);
		if (extension === 'csv' || extension === 'tsv') return separated(file, name, head, begin, extension);
		const lines = extension !== 'json' || isJsonLines(head.subarray(begin));
		return new RecordTable(file, { format: lines ? 'jsonl' : 'json' }, begin);
	} catch (error) {
		await file.close();
		throw error;
	}
}

/** Returns the offset after a byte order mark. */
function textBegin(head: Uint8Array, name: string): number {
	const [a, b, c] = head;
	if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)) {
		throw new Failure('unsupported', `${name} is encoded as UTF-16.`, 'Save it as UTF-8.');
	}
	if (head.subarray(0, 8192).includes(0)) {
		throw new Failure('invalid', `${name} is not text.`, 'Open a data file: JSONL, JSON, CSV, TSV, Parquet or Arrow.');
	}
	return a === 0xef && b === 0xbb && c === 0xbf ? 3 : 0;
}

function separated(
	file: OpenedFile,
	name: string,
	head: Uint8Array,
	begin: number,
	format: SeparatedFormat,
): RecordTable {
	const text = new TextDecoder().decode(head.subarray(begin));
	const delimiter = format === 'tsv' ? '\t' : guessDelimiter(text.split('\n', 1)[0] ?? '');
	const splitter = new SeparatedSplits(delimiter);
	let first: readonly [number, number] | null = null;
	const found = (start: number, end: number) => {
		first ??= [start, end];
	};
	splitter.push(head.subarray(begin), begin, found);
	if (head.length === file.size) splitter.end(head.length, found);
	const [start, end] = (first ?? [begin, head.length]) as readonly [number, number];
	const names = columnNames(parseSeparated(utf8Text(head.subarray(start, end), name), delimiter));
	return new RecordTable(file, { format, delimiter, names }, Math.min(file.size, end + 1));
}

/**
 * Returns whether a .json file has one document per line: the first line is a complete object, and more lines follow.
 */
function isJsonLines(head: Uint8Array): boolean {
	const [first = '', second] = new TextDecoder().decode(head).trimStart().split('\n', 2);
	if (second === undefined || !first.startsWith('{') || !second.startsWith('{')) return false;
	try {
		parseBoundedJson(first);
		return true;
	} catch {
		return false;
	}
}
