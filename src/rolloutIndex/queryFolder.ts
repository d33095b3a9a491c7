import { createHash } from 'node:crypto';
import { mkdir, readdir, realpath, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import type { IndexProgress, ResultTable } from '../protocol/rolloutIndex.ts';
import { noRun } from '../runs/openRun.ts';
import { labHome } from '../runs/runRegistry.ts';
import { runsBelow } from '../runs/runsBelow.ts';
import { RolloutIndex } from './rolloutIndex.ts';

export interface FolderQuery {
	/** A run, or a folder that contains runs. */
	readonly folder: string;
	readonly sql: string;
	readonly limit: number;
	readonly timeoutMs: number;
	/** Whether to keep the index in memory only, so nothing is kept for later queries. */
	readonly inMemory?: boolean;
	readonly signal?: AbortSignal;
	readonly onProgress?: (progress: IndexProgress, run: number, runs: number) => void;
	/** Called if the statement does not stop; the process should then exit. */
	readonly onStuck?: () => void;
}

export interface FolderAnswer {
	readonly table: ResultTable;
	readonly runs: readonly IndexProgress[];
	/** Whether some folders were not searched for runs. */
	readonly cut: boolean;
	/** Message for the user about the index. */
	readonly message: string | null;
}

/** Indexes of folders that have not been queried for this many days are deleted. */
const keptDays = 60;

/** Runs SQL over the runs in a folder. The index is stored in the user's data folder and updated first. */
export async function queryFolder(query: FolderQuery): Promise<FolderAnswer> {
	const { folder, sql, limit, timeoutMs, signal } = query;
	const path = await realpath(folder).catch((error: unknown) => {
		throw Failure.from(error, `Cannot open ${folder}`);
	});
	const { runs: found, cut } = await runsBelow(path, { runs: 1000 }, signal);
	if (found.length === 0) throw noRun(path);
	const storage = query.inMemory ? null : await indexFolder(path);
	const rolloutIndex = await RolloutIndex.open({ storage });
	if (query.onStuck) rolloutIndex.onStuck(query.onStuck);
	try {
		const folders = found.map((run) => run.folder);
		// Runs are read below, one at a time. Those that were indexed earlier and still exist keep their rows, even if
		// the search for runs ended early.
		rolloutIndex.pause(true);
		await rolloutIndex.setRuns([...new Set([...folders, ...(cut ? await existing(rolloutIndex) : [])])]);
		let number = 0;
		if (query.onProgress) {
			const { onProgress } = query;
			rolloutIndex.onProgress((progress) => onProgress(progress, number, folders.length));
		}
		const runs: IndexProgress[] = [];
		for (const run of folders) {
			number++;
			runs.push(await rolloutIndex.index(run, signal).catch((error: unknown) => unread(run, error)));
		}
		const table = await rolloutIndex.sql({ sql, limit, timeoutMs }, signal);
		return { table, runs, cut, message: (await rolloutIndex.status()).message };
	} finally {
		// Do not wait for a statement that does not stop.
		await Promise.race([rolloutIndex.close(), new Promise((resolve) => setTimeout(resolve, 5000).unref())]);
	}
}

/** Returns the indexed runs whose folders still exist. */
async function existing(rolloutIndex: RolloutIndex): Promise<string[]> {
	const indexed = await rolloutIndex.indexedRuns();
	const found = await Promise.all(indexed.map((folder) => stat(folder).catch(() => null)));
	return indexed.filter((_, i) => found[i] !== null);
}

/** Reports a run that cannot be read, so that the others can still be queried. */
function unread(run: string, error: unknown): IndexProgress {
	const failure = Failure.from(error);
	if (failure.reason === 'cancelled') throw failure;
	return { run, state: 'failed', done: 0, total: 0, rollouts: 0, skipped: 0, message: failure.toString() };
}

/**
 * Returns the folder of a saved index in the user's data folder, created if necessary.
 * @param key identifies the contents of the index, such as the path of the folder with the runs
 */
export async function indexFolder(key: string): Promise<string> {
	const all = join(labHome(), 'indexes');
	const own = join(all, createHash('sha256').update(key).digest('hex').slice(0, 32));
	await mkdir(own, { recursive: true });
	const now = new Date();
	await utimes(own, now, now).catch(() => undefined);
	for (const name of await readdir(all).catch(() => [] as string[])) {
		const age = Date.now() - ((await stat(join(all, name)).catch(() => null))?.mtimeMs ?? Date.now());
		if (age > keptDays * 86_400_000) await rm(join(all, name), { recursive: true, force: true });
	}
	return own;
}
