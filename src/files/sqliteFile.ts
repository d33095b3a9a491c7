import { Failure } from '../base/failure.ts';
import { OpenedFile } from './openedFile.ts';
import { SqlitePages } from './sqlitePages.ts';
import type { SqliteValue } from './sqliteRecord.ts';
import { SqliteTable } from './sqliteTable.ts';

export interface SqliteTableInfo {
	readonly name: string;
	readonly columns: readonly string[];
	/** Index of the row id column; null if there is none. Its values are stored as null. */
	readonly rowidColumn: number | null;
	readonly table: SqliteTable;
}

/** Name of a database's write-ahead log. */
export const walOf = (path: string) => `${path}-wal`;

/** An SQLite database, including transactions that are still in its write-ahead log. Nothing is written. */
export class SqliteFile {
	readonly file: OpenedFile;
	readonly tables: readonly SqliteTableInfo[];

	private constructor(file: OpenedFile, tables: readonly SqliteTableInfo[]) {
		this.file = file;
		this.tables = tables;
	}

	/** Fails with `missing`, or with an Error if the database is unreadable; its message is a sentence fragment. */
	static async open(folder: string, path: string): Promise<SqliteFile> {
		// Open the log first: a checkpoint in between only copies pages that the log already contains.
		const wal = await OpenedFile.open(folder, walOf(path)).catch((error: unknown) => {
			if (Failure.from(error).reason === 'missing') return null;
			throw error;
		});
		let file: OpenedFile | null = null;
		try {
			file = await OpenedFile.open(folder, path);
			const pages = await SqlitePages.open(file, wal);
			return new SqliteFile(file, await tablesIn(pages));
		} catch (error) {
			await file?.close();
			throw error;
		} finally {
			await wal?.close();
		}
	}

	table(name: string): SqliteTableInfo | undefined {
		return this.tables.find((table) => table.name === name);
	}

	close(): Promise<void> {
		return this.file.close();
	}
}

/** Returns a row's values by column name. Columns added after the row was written are null. */
export function namedValues(
	{ columns, rowidColumn }: SqliteTableInfo,
	rowid: number,
	values: readonly SqliteValue[],
): Record<string, SqliteValue> {
	return Object.fromEntries(columns.map((name, i) => [name, i === rowidColumn ? rowid : (values[i] ?? null)]));
}

async function tablesIn(pages: SqlitePages): Promise<SqliteTableInfo[]> {
	const tables: SqliteTableInfo[] = [];
	for await (const row of new SqliteTable(pages, 1).rows()) {
		if (row.fault !== null) throw new Error(`a damaged SQLite database: ${row.fault}`);
		const [type, name, , root, sql] = row.values;
		if (type !== 'table' || typeof name !== 'string' || typeof sql !== 'string' || typeof root !== 'number') continue;
		// These tables store their keys differently, and no known format uses them.
		if (/\)\s*WITHOUT\s+ROWID/i.test(sql)) continue;
		tables.push({ name, ...columnsIn(sql), table: new SqliteTable(pages, root) });
	}
	return tables;
}

const constraint = /^(constraint|primary|unique|check|foreign)\b/i;

/** Returns the columns in a CREATE TABLE statement. */
export function columnsIn(sql: string): Pick<SqliteTableInfo, 'columns' | 'rowidColumn'> {
	const columns: string[] = [];
	let rowidColumn: number | null = null;
	for (const definition of definitionsIn(sql)) {
		// Virtual columns are computed instead of stored.
		const isVirtual = /\bAS\s*\(/i.test(definition) && !/\bSTORED\b/i.test(definition);
		if (constraint.test(definition) || isVirtual) continue;
		const name = /^("(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|[^\s("`[]+)/.exec(definition)?.[0];
		if (name === undefined) continue;
		if (/\bINTEGER\s+(NOT\s+NULL\s+)?PRIMARY\s+KEY\b/i.test(definition)) rowidColumn = columns.length;
		columns.push(/^["`[]/.test(name) ? name.slice(1, -1).replaceAll('""', '"') : name);
	}
	if (rowidColumn === null) {
		const [, key] = /\bPRIMARY\s+KEY\s*\(\s*["`[]?([^"`\],)\s]+)["`\]]?\s*\)/i.exec(sql) ?? [];
		const at = columns.indexOf(key ?? '');
		const definition = definitionsIn(sql)[at] ?? '';
		if (at >= 0 && /^\S+\s+INTEGER\b/i.test(definition)) rowidColumn = at;
	}
	return { columns, rowidColumn };
}

/** Splits the part in parentheses at commas that are not nested or quoted. */
function definitionsIn(sql: string): string[] {
	const parts: string[] = [];
	let depth = 0;
	let quote = '';
	let start = sql.indexOf('(') + 1;
	for (let at = start; at < sql.length; at++) {
		const mark = sql[at] as string;
		if (quote !== '') {
			if (mark === quote) quote = '';
		} else if (mark === '"' || mark === "'" || mark === '`') quote = mark;
		else if (mark === '(') depth++;
		else if (mark === ')' && depth > 0) depth--;
		else if (depth === 0 && (mark === ',' || mark === ')')) {
			parts.push(sql.slice(start, at).trim());
			start = at + 1;
			if (mark === ')') break;
		}
	}
	return parts;
}
