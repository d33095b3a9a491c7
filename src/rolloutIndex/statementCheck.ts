import { Failure } from '../base/failure.ts';
import type { Connection, Prepared } from './duckdb.ts';

/** Table functions that only compute or describe tables. All others read files or modify the database. */
const tableFunctions: ReadonlySet<string> = new Set([
	'duckdb_columns',
	'duckdb_functions',
	'duckdb_keywords',
	'duckdb_tables',
	'duckdb_types',
	'duckdb_views',
	'generate_series',
	'histogram',
	'histogram_values',
	'json_each',
	'json_tree',
	'pg_timezone_names',
	'pragma_table_info',
	'pragma_version',
	'range',
	'repeat',
	'repeat_row',
	'summary',
	'unnest',
]);

/** Scalar functions that modify something, wait, or access data outside the statement. */
const deniedFunctions: ReadonlySet<string> = new Set([
	'currval',
	'getenv',
	'getvariable',
	'json_execute_serialized_sql',
	'nextval',
	'query',
	'query_table',
	'setseed',
	'sleep_ms',
	'stats',
	'write_log',
]);

const action = 'Use SELECT, WITH, FROM, VALUES, DESCRIBE, SUMMARIZE, SHOW or EXPLAIN on the views of the index.';

/** A statement that is allowed to run, with the names of its parameters. */
export interface CheckedStatement {
	readonly sql: string;
	readonly parameters: readonly string[];
}

/**
 * Accepts a single read-only statement. DuckDB's own parser determines its type and its functions. Fails with `denied`
 * for any other statement, and with `invalid` and DuckDB's message if it is not valid SQL.
 * @param connection a connection without valuable data: statements are parsed and bound here, but never run
 */
export async function checkStatement(connection: Connection, sql: string): Promise<CheckedStatement> {
	if (sql.includes('\0')) throw new Failure('invalid', 'The statement contains a null character.');
	const explained = /^\s*explain\s+(?:analyze\s+)?(?=\S)/i.exec(sql);
	const tree = await treeOf(connection, explained === null ? sql : sql.slice(explained[0].length));
	if (tree === null) throw new Failure('denied', 'Only read-only statements are allowed.', action);
	walk(tree);
	let prepared: readonly Prepared[];
	try {
		prepared = await connection.prepare(sql);
	} catch (error) {
		throw sqlFailure(error);
	}
	const [statement] = prepared;
	if (statement === undefined) throw new Failure('invalid', 'The statement is empty.');
	if (prepared.length > 1) throw new Failure('denied', 'Run one statement at a time.', action);
	if (statement.kind !== 'SELECT' && statement.kind !== 'EXPLAIN') {
		throw new Failure('denied', `${statement.kind} statements are not allowed.`, action);
	}
	return { sql, parameters: statement.parameters };
}

/** Returns the syntax tree from DuckDB's parser, or null if the statement is not a single SELECT. */
async function treeOf(connection: Connection, sql: string): Promise<unknown> {
	let text: string;
	try {
		const [row] = await connection.rows('select json_serialize_sql($sql::VARCHAR)::VARCHAR', { sql });
		text = String(row?.[0]);
	} catch (error) {
		throw sqlFailure(error);
	}
	const tree = JSON.parse(text) as {
		error: boolean;
		error_type?: string;
		error_message?: string;
		statements?: unknown[];
	};
	if (tree.error) {
		if (tree.error_type === 'not implemented') return null;
		throw new Failure('invalid', ended(tree.error_message ?? 'The statement is invalid'));
	}
	const statements = tree.statements ?? [];
	if (statements.length === 0) throw new Failure('invalid', 'The statement is empty.');
	if (statements.length > 1) throw new Failure('denied', 'Run one statement at a time.', action);
	return statements[0];
}

function walk(root: unknown): void {
	// Avoid recursion, because statements can be nested deeper than the stack allows.
	const waiting: { readonly value: unknown; readonly inFrom: boolean }[] = [{ value: root, inFrom: false }];
	for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
		const { value, inFrom } = next;
		if (Array.isArray(value)) {
			for (const inner of value) waiting.push({ value: inner, inFrom: false });
			continue;
		}
		if (typeof value !== 'object' || value === null) continue;
		const node = value as Record<string, unknown>;
		if (typeof node.function_name === 'string') {
			const name = node.function_name.toLowerCase();
			if (inFrom ? !tableFunctions.has(name) : deniedFunctions.has(name)) {
				throw new Failure('denied', `The function ${name.slice(0, 100)} is not allowed.`, action);
			}
		}
		const isTableFunction = node.type === 'TABLE_FUNCTION';
		for (const key in node) waiting.push({ value: node[key], inFrom: isTableFunction && key === 'function' });
	}
}

/** Converts a DuckDB error to a Failure that explains what is wrong with the statement. */
export function sqlFailure(error: unknown): Failure {
	if (error instanceof Failure) return error;
	const message = (error as Error).message ?? String(error);
	if (/^(Permission|Invalid Configuration) Error/.test(message)) {
		return new Failure('denied', ended(message), action, { cause: error });
	}
	if (/^Out of Memory Error/.test(message)) {
		return new Failure('full', ended(message), 'Request less data: filter first, or use GROUP BY.', { cause: error });
	}
	if (/^INTERRUPT Error/i.test(message)) return new Failure('cancelled', 'The statement was stopped.');
	return new Failure('invalid', ended(message), undefined, { cause: error });
}

function ended(text: string): string {
	const trimmed = text.trim().slice(0, 2000);
	return /[.!?^]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
