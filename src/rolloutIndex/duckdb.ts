import type {
	DuckDBConnection,
	DuckDBDataChunk,
	DuckDBInstance,
	DuckDBResult,
	DuckDBType,
	DuckDBValue,
} from '@duckdb/node-api';
import { Failure } from '../base/failure.ts';

export type { DuckDBResult as SqlResult, DuckDBType as SqlType, DuckDBValue as SqlValue } from '@duckdb/node-api';

type Api = typeof import('@duckdb/node-api');
let loaded: Api | null = null;

/** Loads the library on first use, because most programs never run a query. Fails with `unavailable`. */
async function load(): Promise<Api> {
	try {
		loaded ??= await import('@duckdb/node-api');
		return loaded;
	} catch (error) {
		throw new Failure(
			'unavailable',
			`Cannot load DuckDB on this machine: ${(error as Error).message.split('\n')[0]}.`,
			'Everything except queries still works.',
			{ cause: error },
		);
	}
}

/** Returns the library loaded by `Database.open`. */
function api(): Api {
	if (loaded === null) throw new Error('No database is open.');
	return loaded;
}

/** Builds a MAP column value. */
export function mapOf(entries: readonly { readonly key: string; readonly value: number | null }[]): DuckDBValue {
	return api().mapValue([...entries]);
}

/** Builds a LIST column value. */
export function listOf(items: readonly DuckDBValue[]): DuckDBValue {
	return api().listValue(items);
}

/** Builds a STRUCT column value. */
export function structOf(entries: Readonly<Record<string, DuckDBValue>>): DuckDBValue {
	return api().structValue(entries);
}

export interface DatabaseOptions {
	/** Database file; null for an in-memory database. */
	readonly path: string | null;
	/** Memory limit in MB for tables and intermediate results. */
	readonly memoryMb: number;
	readonly threads: number;
	/** Folder for data that does not fit in memory; null disables spilling. */
	readonly spill: { readonly folder: string; readonly megabytes: number } | null;
	/** Whether statements can read and write files. Default: false, in which case file access cannot be enabled later. */
	readonly files?: boolean;
}

/**
 * Wrapper around DuckDB. No other file loads it. The database is locked down as far as possible: no files except its
 * own, no extensions, no changes to its settings. This applies to our own statements too, because user statements run
 * in the same instance.
 */
export class Database {
	readonly #instance: DuckDBInstance;

	private constructor(instance: DuckDBInstance) {
		this.#instance = instance;
	}

	/** Fails with DuckDB's own error if the file is locked by another process, damaged, or not a database. */
	static async open({ path, memoryMb, threads, spill, files = false }: DatabaseOptions): Promise<Database> {
		const { DuckDBInstance } = await load();
		const instance = await DuckDBInstance.create(path ?? ':memory:', {
			memory_limit: `${memoryMb}MB`,
			threads: `${threads}`,
			// Without a spill folder, nothing is spilled to disk.
			temp_directory: spill?.folder ?? '',
			...(spill === null ? {} : { max_temp_directory_size: `${spill.megabytes}MB` }),
			preserve_insertion_order: 'false',
			autoload_known_extensions: 'false',
			autoinstall_known_extensions: 'false',
			allow_community_extensions: 'false',
			allow_persistent_secrets: 'false',
			// Order matters: the spill folder cannot be set once file access is disabled, and nothing can be set once locked.
			...(files ? {} : { enable_external_access: 'false' }),
			lock_configuration: 'true',
		});
		return new Database(instance);
	}

	async connect(): Promise<Connection> {
		return new Connection(await this.#instance.connect());
	}

	close(): void {
		this.#instance.closeSync();
	}
}

export interface Prepared {
	readonly kind: string;
	/** Parameter names, without `$`. */
	readonly parameters: readonly string[];
}

/** A single connection, which runs one statement at a time. */
export class Connection {
	readonly #connection: DuckDBConnection;

	constructor(connection: DuckDBConnection) {
		this.#connection = connection;
	}

	/** Runs a statement and ignores its result. */
	async run(sql: string, values?: Record<string, DuckDBValue>): Promise<void> {
		await this.#connection.run(sql, values);
	}

	/** Returns the rows of a small result. */
	async rows(sql: string, values?: Record<string, DuckDBValue>): Promise<DuckDBValue[][]> {
		return (await this.#connection.runAndReadAll(sql, values)).getRows();
	}

	/** Returns rows as objects keyed by column. Large integers are bigint. */
	async objects(sql: string, values?: Record<string, DuckDBValue>): Promise<Record<string, DuckDBValue>[]> {
		return (await this.#connection.runAndReadAll(sql, values)).getRowObjects();
	}

	/** Streams the result in chunks, each computed on demand. */
	stream(sql: string, values?: Record<string, DuckDBValue>): Promise<DuckDBResult> {
		return this.#connection.stream(sql, values);
	}

	/** Parses SQL with DuckDB's own parser and returns the type of each statement, without running any of them. */
	async prepare(sql: string): Promise<Prepared[]> {
		const statements = await this.#connection.extractStatements(sql);
		const kinds: Prepared[] = [];
		for (let i = 0; i < statements.count; i++) {
			const prepared = await statements.prepare(i);
			const names = Array.from({ length: prepared.parameterCount }, (_, k) => prepared.parameterName(k + 1));
			kinds.push({ kind: api().StatementType[prepared.statementType], parameters: names });
			prepared.destroySync();
		}
		return kinds;
	}

	/** Returns an appender for columns of equal length, in the table's column order. */
	async appender(table: string): Promise<TableAppender> {
		const appender = await this.#connection.createAppender(table);
		const types = Array.from({ length: appender.columnCount }, (_, i) => appender.columnType(i));
		// Chunks are freed by garbage collection, which ignores their size, so one is reused.
		const chunk = api().DuckDBDataChunk.create(types);
		return {
			types,
			append(columns, rows) {
				for (let from = 0; from < rows; from += chunkRows) {
					const count = Math.min(chunkRows, rows - from);
					chunk.reset();
					chunk.rowCount = count;
					for (const [i, column] of columns.entries()) {
						chunk.setColumnValues(i, count === rows ? column : column.slice(from, from + count));
					}
					appender.appendDataChunk(chunk);
				}
			},
			appendChunk: (chunk) => appender.appendDataChunk(chunk),
			close() {
				appender.closeSync();
			},
		};
	}

	/** Interrupts the running statement, which then fails. */
	interrupt(): void {
		this.#connection.interrupt();
	}

	close(): void {
		this.#connection.closeSync();
	}
}

/** Maximum number of rows per chunk (STANDARD_VECTOR_SIZE). */
const chunkRows = 2048;

export interface TableAppender {
	readonly types: readonly DuckDBType[];
	append(columns: readonly (readonly DuckDBValue[])[], rows: number): void;
	appendChunk(chunk: DuckDBDataChunk): void;
	/** Flushes appended rows to the table. */
	close(): void;
}
