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
/** Between two looks at a lock that is waited for. */
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
 * An exclusive lock between processes, which the leftovers of a dead holder do not block.
 *
 * The lock is a folder of numbered files; the highest number is the lock, its content names the holder. Who finds the
 * highest number released or its holder dead creates the next one; creating fails if it is there, so of any number of
 * contenders one wins. Numbers never go back: a release overwrites the end of the file in place of deleting it, only lower numbers
 * are deleted, and who created a number looks again whether a higher one is there. So a contender that acts on an old
 * look cannot take a lock that somebody else has taken since.
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
	 * Takes the lock or fails with `busy`, naming the process that holds it.
	 * @param folder the lock's own folder; made if missing
	 * @param what what is locked, for the sentence: "The run /a/b"
	 * @param patienceMs how long to wait for a holder that is about to end; default: not at all
	 */
	static async acquire(folder: string, what: string, patienceMs = 0): Promise<FileLock> {
		const deadline = performance.now() + patienceMs;
		const identity = await ownIdentity();
		try {
			await ensureFolder(folder);
			if (!(await lstat(folder)).isDirectory())
				throw new Failure('invalid', `${folder} is not a folder, so it cannot be a lock.`);
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
						'Stop that process first, or wait until it exits.',
					);
				}
				const lock = await FileLock.#create(folder, newest + 1, identity);
				if (lock !== null) return lock;
			}
		} catch (error) {
			throw Failure.from(error, `Cannot lock ${folder}`);
		}
	}

	/** Who holds the lock now; null when nobody does. Takes nothing and writes nothing. */
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
			// A link appears with its whole content at once, or fails if the name is taken.
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

	/** Gives the lock back; a second call does nothing. */
	async release(): Promise<void> {
		if (this.#timer === null) return;
		clearInterval(this.#timer);
		this.#timer = null;
		try {
			// In place, over as many bytes as are there: that needs no room on a full disk and leaves no second file behind.
			const file = await open(fileOf(this.#folder, this.#generation), constants.O_WRONLY | (constants.O_NONBLOCK ?? 0));
			try {
				const from = Buffer.byteLength(entryText(this.#identity)) - held.length;
				await file.write(released, from);
			} finally {
				await file.close();
			}
		} catch {
			// A read-only disk or a deleted folder: the process ends soon, and a dead holder blocks nobody.
		}
	}
}

/** The ends of an entry's text, equally long. */
const held = 'false}';
const released = 'true} ';

const entryText = ({ host, boot, pid, processStart }: ProcessIdentity) =>
	`${JSON.stringify({ host, boot, pid, processStart }).slice(0, -1)},"released":${held}`;

/** Removes what contenders for earlier generations left behind when they died; one that still lives looks again. */
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
		// ENOENT: who has taken a later generation has removed what lay aside.
		if (code === 'EEXIST' || code === 'ENOENT') return false;
		if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS' && code !== 'EMLINK')
			throw error;
	}
	// No hard links here (FAT, some network folders): exclusive creation, then the content; readers wait for it.
	try {
		await writeFile(path, content, { flag: 'wx' });
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
		throw error;
	}
}

/** The live holder named by a generation's file, null when it is released or dead, 'gone' when the file vanished. */
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
			// Unreadable: being written just now, or damaged.
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
