/**
 * Folders that are slow to create and shared by all of this user's clones: the tests' Python environment, the browser
 * workbench. To callers, a folder is either complete or absent: its marker is written last, and leftovers of an
 * interrupted process are removed by the next one.
 */
import { existsSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../src/base/failure.ts';
import { FileLock } from '../../src/files/fileLock.ts';

export interface SharedFolder {
	/** Folders of the same kind are created one at a time. */
	readonly kind: string;
	/** Cache key used in the file name. A different key results in a different folder. */
	readonly key: string;
	/** Name used in messages, such as "the Python environment". */
	readonly what: string;
	/**
	 * Fills the existing empty folder. Can use absolute paths because the folder is never moved. The signal is aborted if
	 * this process is asked to exit.
	 */
	make(folder: string, signal: AbortSignal): Promise<void>;
	readonly say: (line: string) => void;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const mark = '.complete';
/** Period of disuse after which a folder with an older key is removed when another one of its kind is created. */
const unusedMs = 30 * 24 * 3600 * 1000;
const lookMs = 300;

/** Returns the parent of the shared folders. `REASONING_LAB_TEST_CACHE` overrides it. */
export function sharedCache(variables: NodeJS.ProcessEnv = process.env): string {
	const { REASONING_LAB_TEST_CACHE: named, XDG_CACHE_HOME: caches, LOCALAPPDATA: local } = variables;
	if (named) return named;
	const home = () => {
		if (process.platform === 'darwin') return join(homedir(), 'Library/Caches');
		if (process.platform === 'win32') return local || join(homedir(), 'AppData/Local');
		return join(homedir(), '.cache');
	};
	return join(caches || home(), 'reasoning-lab-tests');
}

/** Returns the path of a complete folder, creating it if necessary. Fails with `make`'s error, or if interrupted. */
export async function sharedFolder(options: SharedFolder): Promise<string> {
	const cache = sharedCache();
	const folder = join(cache, `${options.kind}-${options.key}`);
	if (use(folder)) return folder;
	await mkdir(cache, { recursive: true });
	const interrupted = new AbortController();
	const interrupt = () => interrupted.abort(new Error(`Interrupted while creating ${options.what}`));
	for (const signal of signals) process.on(signal, interrupt);
	try {
		await makeFolder(cache, folder, options, interrupted.signal);
		return folder;
	} finally {
		for (const signal of signals) process.off(signal, interrupt);
	}
}

async function makeFolder(cache: string, folder: string, options: SharedFolder, signal: AbortSignal): Promise<void> {
	const { kind, what, make, say } = options;
	const lock = await takeLock(join(cache, `${kind}.lock`), folder, signal, () =>
		say(`Waiting for another process that is creating ${what} in ${folder}`),
	);
	if (lock === null) return;
	try {
		removeLeftovers(cache, kind);
		await mkdir(folder);
		try {
			await make(folder, signal);
			signal.throwIfAborted();
			writeFileSync(join(folder, mark), '');
		} catch (error) {
			remove(folder);
			throw error;
		}
	} finally {
		await lock.release();
	}
}

/** Returns whether a folder is complete, and updates its last-used time. */
function use(folder: string): boolean {
	const path = join(folder, mark);
	if (!existsSync(path)) return false;
	try {
		utimesSync(path, new Date(), new Date());
	} catch {
		// A read-only cache is still usable.
	}
	return true;
}

/** Returns null if another process created the folder in the meantime. */
async function takeLock(
	path: string,
	folder: string,
	signal: AbortSignal,
	onWait: () => void,
): Promise<FileLock | null> {
	for (let result = false; ; ) {
		const lock = await FileLock.acquire(path, folder).catch((error: unknown) => {
			if (error instanceof Failure && error.reason === 'busy') return null;
			throw error;
		});
		if (use(folder)) {
			await lock?.release();
			return null;
		}
		if (lock !== null) return lock;
		if (!result) onWait();
		result = true;
		await sleep(lookMs, undefined, { signal });
	}
}

/** Removes incomplete folders and folders that have been unused for too long. Must hold the lock for their kind. */
function removeLeftovers(cache: string, kind: string): void {
	for (const name of readdirSync(cache)) {
		if (!name.startsWith(`${kind}-`)) continue;
		const folder = join(cache, name);
		const used = statSync(join(folder, mark), { throwIfNoEntry: false })?.mtimeMs;
		if (used === undefined || Date.now() - used > unusedMs) remove(folder);
	}
}

/** Removes a folder, marker first, so that a partly removed folder does not count as complete. */
function remove(folder: string): void {
	rmSync(join(folder, mark), { force: true });
	rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
