import { constants } from 'node:fs';
import { link, lstat, open, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../base/failure.ts';
import { isIdentity, ownIdentity, type ProcessIdentity, processState } from '../processes/processIdentity.ts';
import { asidePath, ensureFolder } from './atomicFile.ts';
import { heartbeatMs, silentMs } from './lockTimes.ts';

interface LockEntry extends ProcessIdentity {
	readonly released: boolean;
}

const largestEntry = 64 << 10;
/** Polling interval while waiting for a lock. */
const lookMs = 30;

function decodeEntry(text: string): LockEntry | null {
	try {
		const value: unknown = JSON.parse(text);
		if (!isIdentity(value)) return null;
		const { host, boot, pid, processStart } = value;
		return { host, boot, pid, processStart, released: (value as Partial<LockEntry>).released === true };
	} catch {
		return null;
	}
}

async function generations(folder: string): Promise<number[]> {
	const names = await readdir(folder);
	return names
		.filter((name) => /^\d{1,9}$/.test(name))
		.map(Number)
		.sort((a, b) => a - b);
}

const fileOf = (folder: string, generation: number) => join(folder, String(generation).padStart(6, '0'));

/**
 * An exclusive interprocess lock that recovers from dead holders.
 *
 * The lock is a folder of numbered files. The file with the highest number is the current lock, and its content
 * identifies the holder. A process that finds this file released, or its holder dead, creates the next number. Creation
 * fails if the file exists, so only one contender wins. Numbers never decrease: releasing overwrites the end of the
 * file instead of deleting it, only files with lower numbers are deleted, and after creating a file, a process checks
 * again for a higher number. A contender acting on a stale read therefore cannot acquire a lock that another process
 * has acquired in the meantime.
 */
export class FileLock {
	readonly #folder: string;
	readonly #generation: number;
	readonly #identity: ProcessIdentity;
	#timer: NodeJS.Timeout | null;

	private constructor(folder: string, generation: number, identity: ProcessIdentity) {
		this.#folder = folder;
		this.#generation = generation;
		this.#identity = identity;
		this.#timer = setInterval(() => void this.#renew(), heartbeatMs);
		this.#timer.unref();
	}

	/**
	 * Acquires the lock, or fails with `busy` and an error that names the holder.
	 * @param folder dedicated folder for the lock; created if missing
	 * @param what subject of the error message, such as "The run /a/b"
	 * @param patienceMs how long to wait for a holder that is about to exit; default: no wait
	 */
	static async acquire(folder: string, what: string, patienceMs = 0): Promise<FileLock> {
		const deadline = performance.now() + patienceMs;
		const identity = await ownIdentity();
		try {
			await ensureFolder(folder);
			if (!(await lstat(folder)).isDirectory())
				throw new Failure('invalid', `${folder} is not a folder, so it cannot be used as a lock.`);
			for (;;) {
				const all = await generations(folder);
				const newest = all.at(-1) ?? 0;
				const holder = newest === 0 ? null : await holderOf(folder, newest);
				if (holder === 'gone') continue;
				if (holder !== null && performance.now() < deadline) {
					await sleep(lookMs);
					continue;
				}
				if (holder !== null) {
					const where = holder.host === identity.host ? '' : ` on ${holder.host}`;
					throw new Failure(
						'busy',
						`${what} is in use by process ${holder.pid}${where}.`,
						'Stop that process, or wait until it exits.',
					);
				}
				const lock = await FileLock.#create(folder, newest + 1, identity);
				if (lock !== null) return lock;
			}
		} catch (error) {
			throw Failure.from(error, `Cannot lock ${folder}`);
		}
	}

	/** Returns the current lock holder, or null if the lock is free. Does not acquire or write anything. */
	static async holder(folder: string): Promise<ProcessIdentity | null> {
		for (let attempt = 0; attempt < 10; attempt++) {
			const newest = (await generations(folder).catch(() => [])).at(-1) ?? 0;
			if (newest === 0) return null;
			const holder = await holderOf(folder, newest, { wait: false });
			if (holder !== 'gone') return holder;
		}
		return null;
	}

	static async #create(folder: string, generation: number, identity: ProcessIdentity): Promise<FileLock | null> {
		const path = fileOf(folder, generation);
		const aside = asidePath(path);
		const content = entryText(identity);
		try {
			await writeFile(aside, content, { flag: 'wx' });
			// A hard link appears with its full content atomically, or fails if the name is taken.
			if (!(await linkOrCopy(aside, path, content))) return null;
			const all = await generations(folder);
			if (all.some((other) => other > generation)) {
				await rm(path, { force: true });
				return null;
			}
			for (const old of all) if (old < generation) await rm(fileOf(folder, old), { force: true });
			await removeAsides(folder, generation);
			return new FileLock(folder, generation, identity);
		} finally {
			await rm(aside, { force: true });
		}
	}

	async #renew(): Promise<void> {
		const now = new Date();
		await utimes(fileOf(this.#folder, this.#generation), now, now).catch(() => undefined);
	}

	/** Releases the lock. Later calls have no effect. */
	async release(): Promise<void> {
		if (this.#timer === null) return;
		clearInterval(this.#timer);
		this.#timer = null;
		try {
			// Overwrite in place with the same number of bytes: this works on a full disk and does not leave a second file
			// behind.
			const file = await open(fileOf(this.#folder, this.#generation), constants.O_WRONLY | (constants.O_NONBLOCK ?? 0));
			try {
				const from = Buffer.byteLength(entryText(this.#identity)) - held.length;
				await file.write(released, from);
			} finally {
				await file.close();
			}
		} catch {
			// A read-only disk or a deleted folder: the process ends soon, and a dead holder does not block anyone.
		}
	}
}

/** Alternative endings of a lock entry, equal in length. */
const held = 'false}';
const released = 'true} ';

const entryText = ({ host, boot, pid, processStart }: ProcessIdentity) =>
	`${JSON.stringify({ host, boot, pid, processStart }).slice(0, -1)},"released":${held}`;

/** Removes temporary files left by dead contenders for earlier generations. A live contender checks again. */
async function removeAsides(folder: string, generation: number): Promise<void> {
	for (const name of await readdir(folder)) {
		const of = /^\.(\d{1,9})\..*\.tmp$/.exec(name)?.[1];
		if (of !== undefined && Number(of) < generation) await rm(join(folder, name), { force: true });
	}
}

async function linkOrCopy(aside: string, path: string, content: string): Promise<boolean> {
	try {
		await link(aside, path);
		return true;
	} catch (error) {
		const code = (error as NodeJS.ErrnoException).code;
		// ENOENT: the owner of a later generation has removed the temporary file.
		if (code === 'EEXIST' || code === 'ENOENT') return false;
		if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS' && code !== 'EMLINK')
			throw error;
	}
	// No hard links (FAT, some network file systems): create the file exclusively, then write to it. Readers wait for the
	// content.
	try {
		await writeFile(path, content, { flag: 'wx' });
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
		throw error;
	}
}

/**
 * Returns the live holder of a generation, null if it is released or the holder is dead, or 'gone' if the file has
 * vanished.
 */
async function holderOf(
	folder: string,
	generation: number,
	{ wait = true }: { wait?: boolean } = {},
): Promise<ProcessIdentity | null | 'gone'> {
	const path = fileOf(folder, generation);
	for (let attempt = 0; ; attempt++) {
		try {
			const before = await lstat(path);
			const readable = before.isFile() && before.size <= largestEntry;
			const entry = readable ? decodeEntry(await readText(path)) : null;
			const silent = Date.now() - before.mtimeMs;
			if (entry !== null) {
				if (entry.released) return null;
				const state = await processState(entry);
				if (state === 'alive') return entry;
				if (state === 'dead') return null;
				return Math.abs(silent) < silentMs ? entry : null;
			}
			// Unreadable: still being written, or damaged.
			if (Math.abs(silent) >= silentMs || (attempt >= 20 && !wait)) return null;
			if (attempt >= 20) return { host: 'an unknown host', boot: '', pid: 0, processStart: '' };
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'gone';
			throw error;
		}
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
}

async function readText(path: string): Promise<string> {
	const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
	try {
		return await file.readFile('utf8');
	} finally {
		await file.close();
	}
}
