/**
 * Folders that take long to make and that all clones of this user share: the Python environment of the tests, the browser
 * workbench. A folder is complete or absent to whoever asks for it: its mark is written last, and what an interrupted
 * process has left is removed by the next one.
 */
import { existsSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../src/base/failure.ts';
import { FileLock } from '../../src/files/fileLock.ts';

export interface SharedFolder {
	/** Folders of one kind are made one at a time. */
	readonly kind: string;
	/** What the content depends on, as a part of a file name: another key is another folder. */
	readonly key: string;
	/** For messages: "the Python environment". */
	readonly what: string;
	/**
	 * Fills the folder, which is there and empty. Paths in what it makes may be absolute: the folder is not moved. The signal
	 * is aborted when this process is told to end.
	 */
	make(folder: string, signal: AbortSignal): Promise<void>;
	readonly say: (line: string) => void;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const mark = '.complete';
/** A folder of an older key is removed when nobody has used it for so long, once another one of its kind is made. */
const unusedMs = 30 * 24 * 3600 * 1000;
const lookMs = 300;

/** Where the folders lie; `REASONING_LAB_TEST_CACHE` names another place. */
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

/** Path of a complete folder, which is made where it is missing. Fails with what `make` fails with, or interrupted. */
export async function sharedFolder(options: SharedFolder): Promise<string> {
	const cache = sharedCache();
	const folder = join(cache, `${options.kind}-${options.key}`);
	if (use(folder)) return folder;
	await mkdir(cache, { recursive: true });
	const interrupted = new AbortController();
	const interrupt = () => interrupted.abort(new Error(`Interrupted while ${options.what} was made`));
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
		say(`Another process makes ${what} in ${folder}: waiting for it`),
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

/** Whether a folder is complete; keeps the time of its last use. */
function use(folder: string): boolean {
	const path = join(folder, mark);
	if (!existsSync(path)) return false;
	try {
		utimesSync(path, new Date(), new Date());
	} catch {
		// A cache that cannot be written can be used.
	}
	return true;
}

/** Null: in the meantime another process has made the folder. */
async function takeLock(
	path: string,
	folder: string,
	signal: AbortSignal,
	onWait: () => void,
): Promise<FileLock | null> {
	for (let told = false; ; ) {
		const lock = await FileLock.acquire(path, folder).catch((error: unknown) => {
			if (error instanceof Failure && error.reason === 'busy') return null;
			throw error;
		});
		if (use(folder)) {
			await lock?.release();
			return null;
		}
		if (lock !== null) return lock;
		if (!told) onWait();
		told = true;
		await sleep(lookMs, undefined, { signal });
	}
}

/** Folders that were never completed, and those that nobody has used for long. The lock of their kind is held. */
function removeLeftovers(cache: string, kind: string): void {
	for (const name of readdirSync(cache)) {
		if (!name.startsWith(`${kind}-`)) continue;
		const folder = join(cache, name);
		const used = statSync(join(folder, mark), { throwIfNoEntry: false })?.mtimeMs;
		if (used === undefined || Date.now() - used > unusedMs) remove(folder);
	}
}

/** The mark goes first: what is removed in part is not complete. */
function remove(folder: string): void {
	rmSync(join(folder, mark), { force: true });
	rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
