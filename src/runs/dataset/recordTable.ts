import type { AbortSignalLike } from '../../base/async.ts';
import { parseBoundedJson } from '../../base/boundedJson.ts';
import {
	JsonSplits,
	LineSplits,
	type RecordSplitter,
	SeparatedSplits,
} from '../../core/dataset/table/recordSplitter.ts';
import { parseSeparated, rowOfFields } from '../../core/dataset/table/separatedValues.ts';
import { isRow, rowOfValue, type TableFormat, type TableRow } from '../../core/dataset/table/tableRow.ts';
import type { OpenedFile } from '../../files/openedFile.ts';
import { encodingAdvice } from '../../files/textEncoding.ts';
import { Turns } from '../../files/turns.ts';
import type { DataTable, OnWalk } from './dataTable.ts';

const chunkBytes = 1 << 18;
/** The position of every nth row is stored, which takes one or two megabytes for a 1 GB file. */
const rowsPerMark = 64;
/** Records longer than this many bytes are not read. */
export const longestRecord = 16 << 20;

/** Text tables with single-character delimiters. */
export type SeparatedFormat = 'csv' | 'tsv';

/** How to separate and parse the records in a file. */
export type RecordSyntax =
	| { readonly format: 'jsonl' | 'json' }
	| { readonly format: SeparatedFormat; readonly delimiter: string; readonly names: readonly string[] };

interface Place {
	readonly start: number;
	readonly end: number;
	readonly line?: number | undefined;
}

/** A file of consecutive records: lines, delimiter-separated values, or a JSON list. Stores row positions, not rows. */
export class RecordTable implements DataTable {
	readonly format: TableFormat;
	readonly size: number;
	readonly stamp: string;
	readonly #file: OpenedFile;
	readonly #syntax: RecordSyntax;
	/** Offset of the first record, after a byte order mark and the header row. */
	readonly #begin: number;
	/** Offsets of rows 0, 64, 128, ... */
	#marks: number[] = [];
	readonly #decoder = new TextDecoder('utf-8', { fatal: true });
	#rowCount = 0;
	#complete = false;
	#indexing: Promise<void> | null = null;

	constructor(file: OpenedFile, syntax: RecordSyntax, begin: number) {
		this.#file = file;
		this.#syntax = syntax;
		this.#begin = begin;
		this.format = syntax.format;
		this.size = file.size;
		this.stamp = file.stamp;
	}

	get rowCount(): number {
		return this.#rowCount;
	}

	get complete(): boolean {
		return this.#complete;
	}

	async index(signal?: AbortSignalLike, onWalk?: OnWalk): Promise<void> {
		if (this.#complete) return;
		await this.#indexing?.catch(() => undefined);
		if (this.#complete) return;
		this.#indexing = this.#index(signal, onWalk).finally(() => {
			this.#indexing = null;
		});
		await this.#indexing;
	}

	async #index(signal?: AbortSignalLike, onWalk?: OnWalk): Promise<void> {
		const marks: number[] = [];
		this.#marks = marks;
		let rows = 0;
		for await (const { places, at } of this.#places(this.#begin, false, signal)) {
			for (const { start } of places) {
				if (rows % rowsPerMark === 0) marks.push(start);
				rows++;
			}
			this.#rowCount = rows;
			onWalk?.(at, this.size);
		}
		this.#complete = true;
	}

	async rows(from: number, to: number): Promise<TableRow[]> {
		const end = Math.min(to, this.#rowCount);
		const mark = Math.floor(from / rowsPerMark);
		const start = this.#marks[mark];
		if (from >= end || start === undefined) return [];
		const rows: TableRow[] = [];
		let row = mark * rowsPerMark;
		// Read no further than the next stored position, because rows requested in random order are read one at a time.
		const portion = Math.max(4096, Math.min(chunkBytes, (this.#marks[mark + 1] ?? this.size) - start));
		for await (const { places, bytes, chunkAt } of this.#places(start, true, undefined, portion)) {
			for (const place of places) {
				// Lines are counted from the stored position, so absolute line numbers are unknown.
				const unnumbered = { start: place.start, end: place.end };
				if (row >= from) rows.push(await this.#row(row, unnumbered, bytes, chunkAt));
				if (++row >= end) return rows;
			}
		}
		return rows;
	}

	async *scan(signal?: AbortSignalLike, onWalk?: OnWalk): AsyncGenerator<TableRow> {
		const turns = new Turns(signal);
		const marks: number[] = [];
		let row = 0;
		for await (const { places, bytes, chunkAt, at } of this.#places(this.#begin, false, signal)) {
			for (const place of places) {
				if (row % rowsPerMark === 0) marks.push(place.start);
				const read = this.#row(row++, place, bytes, chunkAt);
				yield read instanceof Promise ? await read : read;
				if (turns.due) await turns.pass();
			}
			onWalk?.(at, this.size);
		}
		if (this.#complete) return;
		this.#marks = marks;
		this.#rowCount = row;
		this.#complete = true;
	}

	close(): Promise<void> {
		return this.#file.close();
	}

	/**
	 * Yields record positions, chunk by chunk.
	 * @param inside whether the start position is at the beginning of a record
	 */
	async *#places(
		from: number,
		inside: boolean,
		signal?: AbortSignalLike,
		portion = chunkBytes,
	): AsyncGenerator<{ places: Place[]; bytes: Uint8Array; chunkAt: number; at: number }> {
		const turns = new Turns(signal);
		const splitter = this.#splitter(inside);
		for (let at = from; at < this.size; ) {
			const bytes = await this.#file.read(at, Math.min(portion, this.size - at));
			if (bytes.length === 0) break;
			const places: Place[] = [];
			const chunkAt = at;
			splitter.push(bytes, at, (start, end, line) => places.push({ start, end, line }));
			at += bytes.length;
			if (at >= this.size) splitter.end(at, (start, end, line) => places.push({ start, end, line }));
			yield { places, bytes, chunkAt, at };
			if (turns.due) await turns.pass();
		}
	}

	#splitter(inside: boolean): RecordSplitter {
		switch (this.#syntax.format) {
			case 'jsonl':
				return new LineSplits();
			case 'json':
				return new JsonSplits(inside);
			default:
				return new SeparatedSplits(this.#syntax.delimiter);
		}
	}

	#row(row: number, place: Place, bytes: Uint8Array, chunkAt: number): TableRow | Promise<TableRow> {
		const { start, end } = place;
		if (end - start > longestRecord)
			return {
				...placed(row, place),
				value: null,
				fault: `is ${end - start} bytes long; the limit is ${longestRecord}`,
			};
		if (start >= chunkAt) return this.#parsed(row, bytes.subarray(start - chunkAt, end - chunkAt), place);
		// A record that began in the previous chunk is read again.
		return this.#file.read(start, end - start).then((own) => this.#parsed(row, own, place));
	}

	#parsed(row: number, bytes: Uint8Array, place: Place): TableRow {
		let text: string;
		try {
			text = this.#decoder.decode(bytes);
		} catch {
			return { ...placed(row, place), value: null, fault: 'is not valid UTF-8', action: encodingAdvice(bytes) };
		}
		const syntax = this.#syntax;
		if (syntax.format === 'csv' || syntax.format === 'tsv') {
			const value = rowOfFields(syntax.names, parseSeparated(text, syntax.delimiter));
			return { ...placed(row, place), value, fault: null };
		}
		try {
			const value: unknown = parseBoundedJson(text);
			if (!isRow(value)) return { ...placed(row, place), value: rowOfValue(value), fault: null, bare: true };
			// Most rows take this path: one object, without a copy.
			const { line } = place;
			return line === undefined ? { row, value, fault: null } : { row, value, fault: null, line };
		} catch {
			const fault =
				place.end >= this.size ? 'is incomplete JSON, possibly because the file is still being written' : 'is not JSON';
			return { ...placed(row, place), value: null, fault };
		}
	}
}

const placed = (row: number, { line }: Place) => (line === undefined ? { row } : { row, line });
