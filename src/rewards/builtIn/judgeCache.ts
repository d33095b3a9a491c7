import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as v from 'valibot';
import { Sequencer } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';

const entrySchema = v.object({ key: v.pipe(v.string(), v.length(64)), reply: v.string() });

const largestFile = 512 << 20;

/**
 * Cache of judge replies, keyed by a hash of everything that was sent. Stored in memory and, if a path is given, in a
 * JSONL file that later runs can read. Unreadable lines are skipped.
 */
export class JudgeCache {
	readonly #path: string | null;
	readonly #replies = new Map<string, string>();
	readonly #writes = new Sequencer();
	/** The first write error, after which the cache continues in memory only. */
	#broken: Failure | null = null;

	private constructor(path: string | null) {
		this.#path = path;
	}

	/**
	 * Opens a cache. Fails with `invalid` if the file is too large, not regular or not a cache, and with `denied` if it
	 * cannot be read.
	 */
	static async open(path: string | null): Promise<JudgeCache> {
		const cache = new JudgeCache(path);
		if (path === null) return cache;
		const text = await readLines(path);
		// Recipes can come from anyone, so do not append to a file that is not a cache.
		if (text !== '' && !text.startsWith('{"key":')) {
			throw new Failure('invalid', `${path} is not a judge cache.`, 'Set "cache" to a different file.');
		}
		for (const line of text.split('\n')) {
			if (line === '') continue;
			try {
				const { key, reply } = v.parse(entrySchema, JSON.parse(line));
				cache.#replies.set(key, reply);
			} catch {
				// The line is torn, or was written by another program.
			}
		}
		return cache;
	}

	get size(): number {
		return this.#replies.size;
	}

	get(key: string): string | undefined {
		return this.#replies.get(key);
	}

	/** Stores a reply. Resolves when it has been written. Never rejects; see `broken`. */
	async set(key: string, reply: string): Promise<void> {
		this.#replies.set(key, reply);
		const path = this.#path;
		if (path === null || this.#broken !== null) return;
		await this.#writes.queue(async () => {
			try {
				await mkdir(dirname(path), { recursive: true });
				const handle = await open(
					path,
					constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0),
					0o600,
				);
				try {
					await handle.write(`${JSON.stringify({ key, reply })}\n`);
				} finally {
					await handle.close();
				}
			} catch (error) {
				this.#broken ??= Failure.from(error, `Cannot write ${path}`);
			}
		});
	}

	/** Why the cache stopped writing to its file, or null if it has not. */
	get broken(): Failure | null {
		return this.#broken;
	}
}

async function readLines(path: string): Promise<string> {
	let handle: Awaited<ReturnType<typeof open>>;
	try {
		handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
		throw Failure.from(error, `Cannot read ${path}`);
	}
	try {
		const stat = await handle.stat();
		if (!stat.isFile() || stat.size > largestFile) {
			throw new Failure(
				'invalid',
				`Cannot use ${path} as a cache: it is not a regular file, or it is too large.`,
				'Fix "cache".',
			);
		}
		return await handle.readFile('utf8');
	} finally {
		await handle.close();
	}
}
