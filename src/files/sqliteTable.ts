import { SqliteError, type SqlitePages } from './sqlitePages.ts';
import { recordValues, type SqliteValue, varintAt } from './sqliteRecord.ts';

const interior = 0x05;
const leaf = 0x0d;
/** Maximum b-tree depth; a table with 2^64 rows has fewer levels. */
const deepest = 24;
const largestPayload = 64 << 20;

/** A row, or a part of the table that cannot be read. */
export type SqliteRow =
	| { readonly rowid: number; readonly values: readonly SqliteValue[]; readonly fault: null }
	| { readonly rowid: number | null; readonly fault: string };

interface Cell {
	readonly rowid: number;
	readonly payload: number;
	/** Position of the payload in its page. */
	readonly start: number;
}

/** Rows of a table in order of their row ids (https://www.sqlite.org/fileformat2.html#b_tree_pages). */
export class SqliteTable {
	readonly #pages: SqlitePages;
	readonly #root: number;

	constructor(pages: SqlitePages, root: number) {
		this.#pages = pages;
		this.#root = root;
	}

	/** Yields rows after a row id. Damaged pages and rows are yielded as faults. */
	async *rows(after: number | null = null): AsyncGenerator<SqliteRow> {
		yield* this.#below(this.#root, after, 0, new Set());
	}

	/** Returns a row, or null if it does not exist. */
	async row(rowid: number): Promise<SqliteRow | null> {
		for await (const row of this.#below(this.#root, rowid - 1, 0, new Set())) {
			if (row.rowid === rowid) return row;
			if (row.rowid !== null && row.rowid > rowid) return null;
		}
		return null;
	}

	/** Returns the row with the largest row id, or null if the table is empty. */
	async newest(): Promise<SqliteRow | null> {
		try {
			let page = this.#root;
			for (let depth = 0; depth <= deepest; depth++) {
				const bytes = await this.#pages.page(page);
				const start = page === 1 ? 100 : 0;
				if (bytes.readUInt8(start) === interior) {
					page = bytes.readUInt32BE(start + 8);
					continue;
				}
				const count = bytes.readUInt16BE(start + 3);
				if (bytes.readUInt8(start) !== leaf || count === 0) return null;
				const { rowid } = cellAt(bytes, bytes.readUInt16BE(start + 8 + 2 * (count - 1)));
				return await this.row(rowid);
			}
			return null;
		} catch (error) {
			return { rowid: null, fault: words(error) };
		}
	}

	async *#below(page: number, after: number | null, depth: number, seen: Set<number>): AsyncGenerator<SqliteRow> {
		let children: number[];
		try {
			if (depth > deepest || seen.has(page)) throw new SqliteError(`page ${page} is part of a loop`);
			seen.add(page);
			const bytes = await this.#pages.page(page);
			const start = page === 1 ? 100 : 0;
			const kind = bytes.readUInt8(start);
			if (kind === leaf) {
				yield* this.#leaf(bytes, start, after, seen);
				return;
			}
			if (kind !== interior) throw new SqliteError(`page ${page} is not part of a table`);
			children = childrenOf(bytes, start, after);
		} catch (error) {
			yield { rowid: null, fault: words(error) };
			return;
		}
		for (const child of children) yield* this.#below(child, after, depth + 1, seen);
	}

	async *#leaf(bytes: Buffer, start: number, after: number | null, seen: Set<number>): AsyncGenerator<SqliteRow> {
		const count = bytes.readUInt16BE(start + 3);
		for (let i = 0; i < count; i++) {
			let cell: Cell;
			try {
				cell = cellAt(bytes, bytes.readUInt16BE(start + 8 + 2 * i));
			} catch (error) {
				yield { rowid: null, fault: words(error) };
				continue;
			}
			const { rowid } = cell;
			if (after !== null && rowid <= after) continue;
			try {
				const payload = await this.#payload(bytes, cell, seen);
				yield { rowid, values: recordValues(payload, this.#pages.encoding), fault: null };
			} catch (error) {
				yield { rowid, fault: words(error) };
			}
		}
	}

	/**
	 * Returns a row's record, which continues on overflow pages if it is long. Each overflow page can belong to only one
	 * row; otherwise, a small file could expand to any amount of data.
	 */
	async #payload(page: Buffer, { payload, start }: Cell, seen: Set<number>): Promise<Buffer> {
		const { usable } = this.#pages;
		if (payload > largestPayload) throw new SqliteError(`a row is larger than ${largestPayload >> 20} MiB`);
		const most = usable - 35;
		if (payload <= most) return slice(page, start, payload);
		const least = Math.floor(((usable - 12) * 32) / 255) - 23;
		const fitting = least + ((payload - least) % (usable - 4));
		const local = fitting <= most ? fitting : least;
		const parts = [slice(page, start, local)];
		let next = page.readUInt32BE(start + local);
		for (let left = payload - local; left > 0; ) {
			if (seen.has(next)) throw new SqliteError(`page ${next} belongs to several rows`);
			seen.add(next);
			const overflow = await this.#pages.page(next);
			const part = overflow.subarray(4, 4 + Math.min(left, usable - 4));
			parts.push(part);
			left -= part.length;
			next = overflow.readUInt32BE(0);
		}
		return Buffer.concat(parts);
	}
}

/** Returns the children that can contain rows after a row id. */
function childrenOf(bytes: Buffer, start: number, after: number | null): number[] {
	const count = bytes.readUInt16BE(start + 3);
	const children: number[] = [];
	for (let i = 0; i < count; i++) {
		const at = bytes.readUInt16BE(start + 12 + 2 * i);
		const largest = varintAt(bytes, at + 4).value;
		if (after === null || largest > after) children.push(bytes.readUInt32BE(at));
	}
	children.push(bytes.readUInt32BE(start + 8));
	return children;
}

function cellAt(bytes: Buffer, at: number): Cell {
	const payload = varintAt(bytes, at);
	const rowid = varintAt(bytes, payload.end);
	if (payload.value < 0) throw new SqliteError('a row has a negative size');
	return { payload: payload.value, rowid: rowid.value, start: rowid.end };
}

function slice(bytes: Buffer, start: number, length: number): Buffer {
	if (start + length > bytes.length) throw new SqliteError('a row overruns its page');
	return bytes.subarray(start, start + length);
}

function words(error: unknown): string {
	if (error instanceof RangeError) return 'a damaged page';
	return error instanceof Error ? error.message : String(error);
}
