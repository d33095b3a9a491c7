import { read } from 'node:fs';
import { promisify } from 'node:util';
import type { AsyncBuffer, Compressors, FileMetaData } from 'hyparquet';
import { parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { tableBytes } from '../../../base/decodingLimits.ts';
import type { TableShape } from './decodingMessages.ts';
import { answerBytes, largestRow, sizeOf } from './rowLimits.ts';

const readAt = promisify(read);

/**
 * Row groups up to `held` uncompressed bytes are decoded whole and served in chunks. Larger ones are decoded in windows
 * of about `window` bytes and cells, and each window requires another pass over the group's pages.
 */
const decodedAtOnce = { held: 48 << 20, window: 16 << 20 };
const windowCells = 1 << 18;
/** Row groups larger than this are not read. */
const largestGroup = 1 << 30;
/** Pages that claim to be larger than this are not decompressed. */
const largestPage = 256 << 20;
/** Maximum number of row group cells to decode in one pass. */
const heldCells = 4 << 20;

/** Reads rows of one file through its descriptor. Runs in the decoding thread. */
export class ParquetRows {
	readonly #buffer: AsyncBuffer;
	readonly #compressors: Compressors;
	readonly #largest: number;
	readonly #atOnce: typeof decodedAtOnce;
	/** Remaining bytes that can be decompressed for the current request. */
	#left = 0;
	/**
	 * Limit on the decoded size of all rows in the file, and the decoded size of the rows before `#counted`, in bytes.
	 */
	readonly #maxDecoded: number;
	#decoded = 0;
	#counted = 0;
	#metadata: FileMetaData | null = null;
	#held: { readonly start: number; readonly end: number; readonly rows: readonly unknown[] } | null = null;

	/**
	 * @param largest limit on decompressed bytes per request, because the row group sizes in the file can be wrong
	 * @param maxDecoded limit on the decoded size of all rows, in bytes
	 */
	constructor(
		descriptor: number,
		size: number,
		largest = largestGroup,
		maxDecoded = tableBytes(size),
		atOnce = decodedAtOnce,
	) {
		this.#atOnce = atOnce;
		this.#maxDecoded = maxDecoded;
		this.#largest = Math.min(largest, this.#maxDecoded);
		this.#compressors = Object.fromEntries(
			Object.entries(compressors).map(([name, decompress]) => [
				name,
				(input: Uint8Array, length: number) => {
					if (length < 0 || length > largestPage) throw new Error(`a page is ${length} bytes`);
					this.#left -= length;
					if (this.#left < 0) throw new Error(`more than ${this.#largest} bytes of pages need to be decompressed`);
					return decompress(input, length);
				},
			]),
		);
		this.#buffer = {
			byteLength: size,
			slice: async (start, end = size) => {
				if (start < 0 || end > size || end < start) throw new Error(`bytes ${start} to ${end} of ${size}`);
				const bytes = new ArrayBuffer(end - start);
				let filled = 0;
				while (filled < bytes.byteLength) {
					const into = new Uint8Array(bytes, filled);
					const { bytesRead } = await readAt(descriptor, into, 0, into.length, start + filled);
					if (bytesRead === 0) throw new Error('the file is shorter than before');
					filled += bytesRead;
				}
				return bytes;
			},
		};
	}

	async shape(): Promise<TableShape> {
		const metadata = await this.#footer();
		const [root, ...rest] = metadata.schema;
		const columns: string[] = [];
		for (let i = 0, left = root?.num_children ?? 0; left > 0 && i < rest.length; left--) {
			columns.push(rest[i]?.name ?? '');
			// Skip the children of a nested column.
			for (let inner = 1; inner > 0 && i < rest.length; i++) inner += (rest[i]?.num_children ?? 0) - 1;
		}
		const groups = metadata.row_groups.map(rowsOf);
		return { groups, rows: rowsOf(metadata), columns };
	}

	/**
	 * Returns rows `from` to `to` (exclusive), all from one row group; fewer, but at least one, if they do not fit in one
	 * response. Fails if the rows decode to far more data than the file contains.
	 */
	async rows(from: number, to: number): Promise<readonly unknown[]> {
		const held = this.#held;
		if (held !== null && from >= held.start && to <= held.end) {
			return answerOf(held.rows.slice(from - held.start, to - held.start));
		}
		const metadata = await this.#footer();
		let start = 0;
		const group = metadata.row_groups.find((candidate) => {
			const inside = from < start + rowsOf(candidate);
			if (!inside) start += rowsOf(candidate);
			return inside;
		});
		if (group === undefined) throw new Error(`it has no row ${from + 1}`);
		const bytes = Number(group.total_byte_size);
		if (bytes > largestGroup) throw new Error(`a row group is ${bytes} bytes`);
		const columns = Math.max(1, group.columns.length);
		const small = bytes <= this.#atOnce.held && rowsOf(group) * columns <= heldCells;
		const end = start + rowsOf(group);
		const share = Math.min(this.#atOnce.window / Math.max(1, bytes), windowCells / (rowsOf(group) * columns));
		const window = Math.min(end, Math.max(to, from + Math.floor(rowsOf(group) * share)));
		const range = small ? { rowStart: start, rowEnd: end } : { rowStart: from, rowEnd: window };
		this.#left = this.#largest;
		const rows = (
			await parquetReadObjects({
				file: this.#buffer,
				metadata,
				compressors: this.#compressors,
				geoparquet: false,
				...range,
			})
		).map((row, i) => {
			const whole = plain(row);
			// Rows that are decoded several times count only once.
			if (range.rowStart + i >= this.#counted) {
				this.#counted = range.rowStart + i + 1;
				this.#decoded += sizeOf(whole);
				if (this.#decoded > this.#maxDecoded) {
					throw new Error(
						`its rows decode to more than ${this.#maxDecoded} bytes from a file of ${this.#buffer.byteLength}`,
					);
				}
			}
			return whole;
		});
		this.#held = { start: range.rowStart, end: range.rowEnd, rows };
		return answerOf(rows.slice(from - range.rowStart, to - range.rowStart));
	}

	async #footer(): Promise<FileMetaData> {
		this.#metadata ??= await parquetMetadataAsync(this.#buffer, { geoparquet: false });
		return this.#metadata;
	}
}

/** Returns as many of the first rows as fit in a response. */
function answerOf(rows: readonly unknown[]): readonly unknown[] {
	let bytes = 0;
	for (const [i, row] of rows.entries()) {
		const size = sizeOf(row);
		bytes += size;
		if (i === 0 && size > largestRow) throw new Error(`a row is ${size} bytes`);
		if (i > 0 && bytes > answerBytes) return rows.slice(0, i);
	}
	return rows;
}

/** Number of rows; damaged metadata can lack it, or contain a negative number or a value of another type. */
function rowsOf({ num_rows: rows = 0n }: { readonly num_rows?: unknown }): number {
	if (typeof rows !== 'bigint') throw new Error('its footer is damaged');
	return Math.max(0, Number(rows));
}

/** Converts a cell to JSON: numbers for large integers, strings for times and bytes, null for missing values. */
function plain(value: unknown): unknown {
	if (value === undefined || value === null) return null;
	if (typeof value === 'bigint') return Number(value);
	if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
	if (value instanceof Uint8Array) return new TextDecoder().decode(value);
	if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<number>, plain);
	if (Array.isArray(value)) return value.map(plain);
	if (typeof value === 'object') {
		return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
	}
	return value;
}
