import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { Database } from './duckdb.ts';
import { createSchema, hasSchema } from './schema.ts';

export interface OpenedIndex {
	readonly database: Database;
	/** null for an in-memory index. */
	readonly path: string | null;
	readonly kind: 'own' | 'second' | 'memory';
	/** Message for the user about the index. */
	readonly message: string | null;
	/** Folder for intermediate results, deleted when the index is closed. */
	readonly spill: string | null;
}

export interface OpenIndexOptions {
	/** Index folder, created if it does not exist; null for an in-memory index. */
	readonly storage: string | null;
	readonly memoryMb: number;
	readonly threads: number;
}

/** Maximum number of windows with the same workspace open that can each have an index file. */
const maxFiles = 4;
const spillMb = 4096;

/**
 * Opens or creates the index of a workspace. DuckDB allows only one process per file: while another window has the file
 * open, this one uses the next file name and builds its own index, which is deleted on close. A file that is damaged or
 * from a different version is rebuilt, since everything in the index comes from the runs.
 */
export async function openIndex({ storage, memoryMb, threads }: OpenIndexOptions): Promise<OpenedIndex> {
	if (storage === null) return await inMemory(memoryMb, threads, null);
	try {
		await mkdir(storage, { recursive: true });
	} catch (error) {
		const { message } = Failure.from(error, `Cannot create the index folder ${storage}`);
		return await inMemory(memoryMb, threads, `${message} Keeping the index in memory instead.`);
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
	return await inMemory(
		memoryMb,
		threads,
		'Too many windows have this workspace open, so the index is kept in memory.',
	);
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
			message = 'The index was created by a different version of Reasoning Lab and is being rebuilt.';
		} catch (error) {
			if (isLocked(error)) throw error;
			message = `The index was damaged (${firstLine(error)}) and is being rebuilt.`;
		}
		database?.close();
		await rm(path, { force: true });
	}
	// A write-ahead log left over from an earlier file must not be applied to a new one.
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

/** Closes the index and deletes anything temporary. */
export async function closeIndex({ database, path, kind, spill }: OpenedIndex): Promise<void> {
	database.close();
	if (spill !== null) await rm(spill, { recursive: true, force: true });
	if (kind !== 'second' || path === null) return;
	await rm(path, { force: true });
	await rm(`${path}.wal`, { force: true });
}

/** Returns the size on disk in bytes, or 0 for an in-memory index. */
export async function fileSize(path: string | null): Promise<number> {
	if (path === null) return 0;
	const sizes = await Promise.all([path, `${path}.wal`].map((file) => stat(file).catch(() => null)));
	return sizes.reduce((sum, one) => sum + (one?.size ?? 0), 0);
}
