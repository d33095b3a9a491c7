import { createHash } from 'node:crypto';
import { lstat, readdir, realpath, rm } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import * as v from 'valibot';
import { ensureFolder, writeFileAtomic } from '../files/atomicFile.ts';
import { readJson } from '../files/safeFile.ts';
import { currentPlatform } from '../processes/currentPlatform.ts';
import { decode } from '../protocol/decode.ts';
import { isRunFolder } from './runFolders.ts';

/** Returns the per-user data folder, which REASONING_LAB_HOME overrides. */
export function labHome(environment: NodeJS.ProcessEnv = process.env): string {
	const set = environment.REASONING_LAB_HOME;
	return set && isAbsolute(set) ? set : currentPlatform().dataFolder(environment);
}

const entrySchema = v.looseObject({
	format: v.literal(1),
	path: v.string(),
	added: v.number(),
	/** Reader for opening another trainer's run. */
	reader: v.optional(v.string()),
	/** Hash of the recipe that this user started the run or pipeline with. */
	started: v.optional(v.string()),
});
type Entry = v.InferOutput<typeof entrySchema>;

const largestEntry = 64 << 10;

/**
 * Registry of runs that this user's programs have started or opened, wherever they are stored. Each run has one small
 * file, so several processes can add and remove entries simultaneously without conflicts.
 */
export class RunRegistry {
	readonly #folder: string;

	constructor(home = labHome()) {
		this.#folder = join(home, 'runs');
	}

	/**
	 * @param reader format name of another trainer's run
	 * @param started hash of the recipe that this user starts the run or pipeline with; if omitted, the known hash is kept
	 */
	async add(run: string, reader?: string, started?: string): Promise<void> {
		// The folder might not exist yet.
		const path = await realpath(run).catch(async () => join(await realpath(dirname(run)), basename(run)));
		await ensureFolder(this.#folder);
		const mark = started ?? (await this.startedWith(path));
		const entry = {
			...{ format: 1, path, added: Date.now() / 1000 },
			...(reader === undefined ? {} : { reader }),
			...(mark === undefined ? {} : { started: mark }),
		};
		await writeFileAtomic(join(this.#folder, this.#name(path)), `${JSON.stringify(entry)}\n`);
	}

	/**
	 * Removes a run from the registry; its folder is kept.
	 * @returns the value of `startedWith`, for adding the run again
	 */
	async remove(run: string): Promise<string | undefined> {
		const path = await realpath(run).catch(() => run);
		const started = await this.startedWith(path);
		await rm(join(this.#folder, this.#name(path)), { force: true });
		return started;
	}

	/** Returns the known folders of our own runs that still exist, newest entry first. */
	async list(): Promise<string[]> {
		const found: Entry[] = [];
		for (const entry of await this.#entries()) {
			if (entry.reader === undefined && (await isRunFolder(entry.path))) found.push(entry);
		}
		return found.map(({ path }) => path);
	}

	/**
	 * Returns the known folders of other trainers' runs that still exist, newest entry first; their contents are not
	 * checked.
	 */
	async listForeign(): Promise<string[]> {
		const found: string[] = [];
		for (const { path, reader } of await this.#entries()) {
			if (reader === undefined) continue;
			if ((await lstat(path).catch(() => null))?.isDirectory()) found.push(path);
		}
		return found;
	}

	/** Returns the reader that the user opened another trainer's run with, or undefined if not set. */
	async readerOf(run: string): Promise<string | undefined> {
		return (await this.#entryOf(run))?.reader;
	}

	/**
	 * Returns the hash of the recipe that this user last started the run or pipeline with (see `add`), or undefined if
	 * this user has never started it on this machine.
	 */
	async startedWith(run: string): Promise<string | undefined> {
		return (await this.#entryOf(run))?.started;
	}

	async #entryOf(run: string): Promise<Entry | undefined> {
		const path = await realpath(run).catch(() => run);
		const value = await readJson(this.#folder, this.#name(path), largestEntry).catch(() => undefined);
		const decoded = decode(entrySchema, value);
		return decoded.ok && decoded.value.path === path ? decoded.value : undefined;
	}

	async #entries(): Promise<Entry[]> {
		const found: Entry[] = [];
		for (const name of await readdir(this.#folder).catch(() => [] as string[])) {
			if (!name.endsWith('.json')) continue;
			const value = await readJson(this.#folder, name, largestEntry).catch(() => undefined);
			const decoded = decode(entrySchema, value);
			if (decoded.ok) found.push(decoded.value);
		}
		return found.sort((a, b) => b.added - a.added);
	}

	#name(path: string): string {
		return `${createHash('sha256').update(path).digest('hex').slice(0, 32)}.json`;
	}
}
