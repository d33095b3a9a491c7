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

/** Loads the library when it is first needed: a program that could ask may never do. Fails with `unavailable`. */
async function load(): Promise<Api> {
	try {
		loaded ??= await import('@duckdb/node-api');
		return loaded;
	} catch (error) {
		throw new Failure(
			'unavailable',
			`Cannot load DuckDB on this machine: ${(error as Error).message.split('\n')[0]}.`,
			'Everything except queries works without it.',
			{ cause: error },
		);
	}
}

/** As loaded by `Database.open`. */
function api(): Api {
	if (loaded === null) throw new Error('No database is open.');
	return loaded;
}

/** A value of a MAP column. */
export function mapOf(entries: readonly { readonly key: string; readonly value: number | null }[]): DuckDBValue {
	return api().mapValue([...entries]);
}

export interface DatabaseOptions {
	/** File; null: in memory. */
	readonly path: string | null;
	/** Of tables and intermediate results in memory, in MB. */
	readonly memoryMb: number;
	readonly threads: number;
	/** Folder for what does not fit into memory; null: nothing is written aside. */
	readonly spill: { readonly folder: string; readonly megabytes: number } | null;
	/** Whether statements may read and write files; default: no, and then nothing can turn it on again. */
	readonly files?: boolean;
}

/**
 * DuckDB, the only file that loads it. Closed as far as it can be: no files but its own, no extensions, no changes of its
 * settings; also for our own statements, since those of people run in the same instance.
 */
export class Database {
	readonly #instance: DuckDBInstance;

	private constructor(instance: DuckDBInstance) {
		this.#instance = instance;
	}

	/** Fails with DuckDB's own error: the file is locked by another process, damaged, or no database. */
	static async open({ path, memoryMb, threads, spill, files = false }: DatabaseOptions): Promise<Database> {
		const { DuckDBInstance } = await load();
		const instance = await DuckDBInstance.create(path ?? ':memory:', {
			memory_limit: `${memoryMb}MB`,
			threads: `${threads}`,
			// Nothing is deleted from memory by spilling where there is no folder to spill to.
			temp_directory: spill?.folder ?? '',
			...(spill === null ? {} : { max_temp_directory_size: `${spill.megabytes}MB` }),
			preserve_insertion_order: 'false',
			autoload_known_extensions: 'false',
			autoinstall_known_extensions: 'false',
			allow_community_extensions: 'false',
			allow_persistent_secrets: 'false',
			// In this order: without files their folder can no longer be named, locked nothing can be set.
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
	/** Names of its parameters, without `$`. */
	readonly parameters: readonly string[];
}

/** One connection: one statement at a time. */
export class Connection {
	readonly #connection: DuckDBConnection;

	constructor(connection: DuckDBConnection) {
		this.#connection = connection;
	}

	/** Without results, or with few. */
	async run(sql: string, values?: Record<string, DuckDBValue>): Promise<void> {
		await this.#connection.run(sql, values);
	}

	/** Rows of a small result. */
	async rows(sql: string, values?: Record<string, DuckDBValue>): Promise<DuckDBValue[][]> {
		return (await this.#connection.runAndReadAll(sql, values)).getRows();
	}

	/** As objects by column. Large integers come as bigint. */
	async objects(sql: string, values?: Record<string, DuckDBValue>): Promise<Record<string, DuckDBValue>[]> {
		return (await this.#connection.runAndReadAll(sql, values)).getRowObjects();
	}

	/** Chunk by chunk, each computed when it is asked for. */
	stream(sql: string, values?: Record<string, DuckDBValue>): Promise<DuckDBResult> {
		return this.#connection.stream(sql, values);
	}

	/** What each statement of a text is, by DuckDB's own parser; nothing runs. */
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

	/** Appends columns of equal length to a table, in the table's order of columns. */
	async appender(table: string): Promise<TableAppender> {
		const appender = await this.#connection.createAppender(table);
		const types = Array.from({ length: appender.columnCount }, (_, i) => appender.columnType(i));
		return {
			types,
			append(columns, rows) {
				for (let from = 0; from < rows; from += chunkRows) {
					const count = Math.min(chunkRows, rows - from);
					const chunk = api().DuckDBDataChunk.create(types, count);
					for (const [i, column] of columns.entries()) chunk.setColumnValues(i, column.slice(from, from + count));
					appender.appendDataChunk(chunk);
				}
			},
			appendChunk: (chunk) => appender.appendDataChunk(chunk),
			close() {
				appender.closeSync();
			},
		};
	}

	/** Stops the statement that runs; it fails. */
	interrupt(): void {
		this.#connection.interrupt();
	}

	close(): void {
		this.#connection.closeSync();
	}
}

/** Rows of a chunk at most (STANDARD_VECTOR_SIZE). */
const chunkRows = 2048;

export interface TableAppender {
	readonly types: readonly DuckDBType[];
	append(columns: readonly (readonly DuckDBValue[])[], rows: number): void;
	appendChunk(chunk: DuckDBDataChunk): void;
	/** What was appended goes to the table. */
	close(): void;
}
