import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { Database } from './duckdb.ts';
import { createSchema, hasSchema } from './schema.ts';

export interface OpenedIndex {
	readonly database: Database;
	/** null: in memory. */
	readonly path: string | null;
	readonly kind: 'own' | 'second' | 'memory';
	/** What a person should know about it. */
	readonly message: string | null;
	/** Folder for intermediate results; removed when the index is closed. */
	readonly spill: string | null;
}

export interface OpenIndexOptions {
	/** Folder of the index, made if it does not exist; null: in memory. */
	readonly storage: string | null;
	readonly memoryMb: number;
	readonly threads: number;
}

/** Windows that have the same workspace open at once, each with an index file of its own. */
const maxFiles = 4;
const spillMb = 4096;

/**
 * Opens the index of a workspace, or makes it. DuckDB lets one process have a file: while another window has it, this one
 * takes the next name and builds its own, which goes when it is closed. A file that is damaged, or of another version, is
 * rebuilt: the index holds nothing that the runs do not.
 */
export async function openIndex({ storage, memoryMb, threads }: OpenIndexOptions): Promise<OpenedIndex> {
	if (storage === null) return await inMemory(memoryMb, threads, null);
	try {
		await mkdir(storage, { recursive: true });
	} catch (error) {
		const { message } = Failure.from(error, `Cannot create the index folder ${storage}`);
		return await inMemory(memoryMb, threads, `${message} The index is kept in memory.`);
	}
	for (let number = 1; number <= maxFiles; number++) {
		const name = number === 1 ? 'index' : `index-${number}`;
		const path = join(storage, `${name}.duckdb`);
		const spill = join(storage, `${name}.spill`);
		const options = { path, memoryMb, threads, spill: { folder: spill, megabytes: spillMb } };
		const kind = number === 1 ? 'own' : 'second';
		try {
			const opened = await openFile(options);
			return { ...opened, path, kind, spill };
		} catch (error) {
			if (isLocked(error)) continue;
			throw Failure.from(error, `Cannot open or rebuild the index ${path}`);
		}
	}
	return await inMemory(memoryMb, threads, 'Many windows have this workspace open, so the index is kept in memory.');
}

type FileOptions = Parameters<typeof Database.open>[0] & { readonly path: string };

async function openFile(options: FileOptions): Promise<{ database: Database; message: string | null }> {
	const { path } = options;
	const isNew = (await stat(path).catch(() => null)) === null;
	let message: string | null = null;
	if (!isNew) {
		let database: Database | null = null;
		try {
			database = await Database.open(options);
			const connection = await database.connect();
			const fits = await hasSchema(connection);
			connection.close();
			if (fits) return { database, message };
			message = 'The index was made by another version of Reasoning Lab and is being rebuilt.';
		} catch (error) {
			if (isLocked(error)) throw error;
			message = `The index was damaged (${firstLine(error)}) and is being rebuilt.`;
		}
		database?.close();
		await rm(path, { force: true });
	}
	// What an earlier file left behind must not be applied to a new one.
	await rm(`${path}.wal`, { force: true });
	const database = await Database.open(options);
	const connection = await database.connect();
	await createSchema(connection);
	connection.close();
	return { database, message };
}

function isLocked(error: unknown): boolean {
	return /could not set lock|conflicting lock|being used by another process|same database file/i.test(String(error));
}

function firstLine(error: unknown): string {
	return ((error as Error).message ?? String(error)).split('\n')[0]?.slice(0, 200) ?? '';
}

async function inMemory(memoryMb: number, threads: number, message: string | null): Promise<OpenedIndex> {
	const database = await Database.open({ path: null, memoryMb, threads, spill: null });
	const connection = await database.connect();
	await createSchema(connection);
	connection.close();
	return { database, path: null, kind: 'memory', message, spill: null };
}

/** Closes it, and removes what was only for this time. */
export async function closeIndex({ database, path, kind, spill }: OpenedIndex): Promise<void> {
	database.close();
	if (spill !== null) await rm(spill, { recursive: true, force: true });
	if (kind !== 'second' || path === null) return;
	await rm(path, { force: true });
	await rm(`${path}.wal`, { force: true });
}

/** Bytes on disk; 0 in memory. */
export async function fileSize(path: string | null): Promise<number> {
	if (path === null) return 0;
	const sizes = await Promise.all([path, `${path}.wal`].map((file) => stat(file).catch(() => null)));
	return sizes.reduce((sum, one) => sum + (one?.size ?? 0), 0);
}
