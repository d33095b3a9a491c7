import { randomBytes } from 'node:crypto';
import { rename, rm, stat } from 'node:fs/promises';
import { Failure } from '../base/failure.ts';
import { spreadsheetText } from '../core/text/spreadsheetText.ts';
import type { TableExport } from '../protocol/tableExport.ts';
import { Database, type SqlResult } from './duckdb.ts';

/**
 * Writes a result to a CSV or Parquet file, which appears only when complete. The index database has no file access, so
 * the file is written by a separate database that contains nothing but the result rows.
 */
export async function exportTable(
	result: SqlResult,
	path: string,
	format: TableExport,
): Promise<{ rows: number; bytes: number }> {
	const temporary = `${path}.${randomBytes(6).toString('hex')}`;
	const database = await Database.open({ path: null, memoryMb: 400, threads: 2, spill: null, files: true });
	try {
		const connection = await database.connect();
		const names = unique(result.columnNames());
		const columns = names.map((name, i) => `${quoted(name)} ${typeOf(result, i)}`);
		await connection.run(`create table result (${columns.join(', ')})`);
		const appender = await connection.appender('result');
		let rows = 0;
		for (
			let chunk = await result.fetchChunk();
			chunk !== null && chunk.rowCount > 0;
			chunk = await result.fetchChunk()
		) {
			rows += chunk.rowCount;
			appender.appendChunk(chunk);
		}
		appender.close();
		const options = format === 'csv' ? 'format csv, header true' : 'format parquet, compression zstd';
		const from =
			format === 'csv'
				? `(select ${names.map((name, i) => cellOf(name, typeOf(result, i))).join(', ')} from result)`
				: 'result';
		await connection.run(`copy ${from} to '${temporary.replaceAll("'", "''")}' (${options})`);
		connection.close();
		await rename(temporary, path);
		return { rows, bytes: (await stat(path)).size };
	} catch (error) {
		await rm(temporary, { force: true });
		throw Failure.from(error, `Cannot write ${path}`);
	} finally {
		database.close();
	}
}

function typeOf(result: SqlResult, column: number): string {
	const type = String(result.columnType(column));
	// A column with only NULLs has a type that tables do not support.
	return type === 'SQLNULL' || type === 'NULL' || type === '"NULL"' ? 'VARCHAR' : type;
}

/**
 * Returns the SQL for a column in CSV output. Text that a spreadsheet would execute is prefixed with an apostrophe
 * (`spreadsheetText`).
 */
function cellOf(name: string, type: string): string {
	const column = quoted(name);
	// Reward names become column names and are untrusted, because they come from the author of the run.
	const head = quoted(spreadsheetText(name));
	if (type !== 'VARCHAR') return `${column} as ${head}`;
	const runs = `regexp_matches(${column}, '^[=+\\-@\\t\\r]') and try_cast(${column} as double) is null`;
	return `case when ${runs} then '''' || ${column} else ${column} end as ${head}`;
}

function unique(names: readonly string[]): string[] {
	const seen = new Set<string>();
	return names.map((name) => {
		let given = name === '' ? 'column' : name;
		for (let i = 2; seen.has(given.toLowerCase()); i++) given = `${name}_${i}`;
		seen.add(given.toLowerCase());
		return given;
	});
}

function quoted(name: string): string {
	return `"${name.replaceAll('"', '""')}"`;
}
