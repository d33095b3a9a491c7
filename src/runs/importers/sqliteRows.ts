import { createHash } from 'node:crypto';
import type { AbortSignalLike } from '../../base/async.ts';
import type { Frame, FrameFile, FramePlace } from '../../files/frame.ts';
import { namedValues, SqliteFile, type SqliteTableInfo } from '../../files/sqliteFile.ts';
import type { SqliteRow } from '../../files/sqliteTable.ts';
import { Turns } from '../../files/turns.ts';
import { stampOf } from './fileStamp.ts';

/** Number of attempts to read a part of a database that a writer is changing. */
const attempts = 3;
const restMs = 50;

/** Name of the field with the newest row's value of the column in `lastOf`. */
export const newestField = 'newest';

interface Shape {
	readonly table: string;
	/** Column whose value in the newest row is added to each record. */
	readonly lastOf?: string | undefined;
}

/**
 * A table in an SQLite database with one record per row: an object keyed by column. A row's position is its row id. Rows are
 * read while the program that owns the database writes to it.
 */
export class SqliteRows implements FrameFile {
	readonly #folder: string;
	readonly #path: string;
	readonly #shape: Shape;
	#database: SqliteFile;
	readonly stamp: string;
	readonly modifiedMs: number;
	/** When the file was last checked for changes, in milliseconds. */
	#checkedMs = Number.NEGATIVE_INFINITY;
	/** Row ids have no upper limit. */
	readonly size = Number.MAX_SAFE_INTEGER;

	private constructor(folder: string, path: string, shape: Shape, database: SqliteFile, stamp: string, ms: number) {
		this.#folder = folder;
		this.#path = path;
		this.#shape = shape;
		this.#database = database;
		this.stamp = stamp;
		this.modifiedMs = ms;
	}

	/** Fails with `missing`, or with an Error whose message is a sentence fragment. */
	static async open(folder: string, path: string, shape: Shape): Promise<SqliteRows> {
		const found = await stampOf(folder, path);
		const database = await SqliteFile.open(folder, path);
		return new SqliteRows(folder, path, shape, database, found?.stamp ?? '', found?.modifiedMs ?? 0);
	}

	async *frames(signal?: AbortSignalLike, after?: FramePlace): AsyncGenerator<Frame> {
		const turns = new Turns(signal);
		let last = after?.offset ?? null;
		let number = after?.number ?? 0;
		for (let attempt = 1; ; attempt++) {
			const table = this.#database.table(this.#shape.table);
			if (table === undefined) return;
			const newest = await this.#newest(table);
			let changed = false;
			for await (const row of table.table.rows(last)) {
				if (row.fault !== null && attempt < attempts && (await this.#reopened())) {
					changed = true;
					break;
				}
				if (row.rowid !== null) last = row.rowid;
				yield this.#frame(table, row, ++number, newest);
				if (turns.due) await turns.pass();
			}
			if (!changed) return;
			await new Promise((resolve) => setTimeout(resolve, restMs));
		}
	}

	async frame(place: FramePlace): Promise<Frame> {
		const table = this.#database.table(this.#shape.table);
		const row = await table?.table.row(place.offset);
		if (table === undefined || !row) return { ...place, records: [], fault: 'is missing', torn: false };
		return this.#frame(table, row, place.number, await this.#newest(table));
	}

	/** Returns a hash of the row before a position, to check that rows have only been added. */
	async bytesBefore(position: number): Promise<Uint8Array> {
		const table = this.#database.table(this.#shape.table);
		const row = await table?.table.row(position - 1);
		if (table === undefined || !row || row.fault !== null) return Buffer.alloc(0);
		const hash = createHash('sha256').update(String(await this.#newest(table)));
		for (const value of row.values) hash.update(`${typeof value} ${String(value)}\n`);
		return hash.digest();
	}

	close(): Promise<void> {
		return this.#database.close();
	}

	#frame(table: SqliteTableInfo, row: SqliteRow, number: number, newest: unknown): Frame {
		const place = { offset: row.rowid ?? 0, length: 1, number };
		if (row.fault !== null) return { ...place, records: [], fault: row.fault, torn: false };
		const values = namedValues(table, row.rowid, row.values);
		const record = this.#shape.lastOf === undefined ? values : { ...values, [newestField]: newest };
		return { ...place, records: [record], fault: null, torn: false };
	}

	async #newest(table: SqliteTableInfo): Promise<unknown> {
		const { lastOf } = this.#shape;
		if (lastOf === undefined) return undefined;
		const row = await table.table.newest();
		return row === null || row.fault !== null ? undefined : namedValues(table, row.rowid, row.values)[lastOf];
	}

	/**
	 * Reopens the database if it has changed, because a page can be read while it is being replaced. Checks for changes
	 * at most once per pause, because a damaged table can have a hundred thousand unreadable rows.
	 */
	async #reopened(): Promise<boolean> {
		if (performance.now() - this.#checkedMs < restMs) return false;
		this.#checkedMs = performance.now();
		const now = await stampOf(this.#folder, this.#path);
		if (now === null || now.stamp === this.stamp) return false;
		const database = await SqliteFile.open(this.#folder, this.#path).catch(() => null);
		if (database === null) return false;
		await this.#database.close();
		this.#database = database;
		this.#checkedMs = Number.NEGATIVE_INFINITY;
		return true;
	}
}
