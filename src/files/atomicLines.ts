import { type FileHandle, lstat, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Failure } from '../base/failure.ts';
import { asidePath, ensureFolder, renameOver, syncFolder } from './atomicFile.ts';

const chunkLength = 1 << 18;

/**
 * Writes a file of lines in batches to a temporary file that is renamed on commit. Nothing remains if the write is not
 * committed.
 */
export class AtomicLines {
	readonly path: string;
	readonly #aside: string;
	readonly #replace: boolean;
	readonly #handle: FileHandle;
	#chunk = '';
	#open = true;
	bytes = 0;

	private constructor(path: string, aside: string, replace: boolean, handle: FileHandle) {
		this.path = path;
		this.#aside = aside;
		this.#replace = replace;
		this.#handle = handle;
	}

	/** Fails with `exists` if the file exists and `replace` is false, or with `denied` or `full`. */
	static async open(path: string, { replace }: { readonly replace: boolean }): Promise<AtomicLines> {
		await checkFree(path, replace);
		const aside = asidePath(path);
		try {
			await ensureFolder(dirname(path));
			return new AtomicLines(path, aside, replace, await open(aside, 'wx'));
		} catch (error) {
			throw writingFailed(error, path);
		}
	}

	/** @param line line including its line feed */
	async append(line: string): Promise<void> {
		this.#chunk += line;
		if (this.#chunk.length >= chunkLength) await this.#flush();
	}

	async commit(): Promise<void> {
		try {
			await this.#flush();
			await this.#handle.sync();
			await this.#close();
			await checkFree(this.path, this.#replace);
			await renameOver(this.#aside, this.path);
			await syncFolder(dirname(this.path));
		} catch (error) {
			throw writingFailed(error, this.path);
		}
	}

	/** Removes the temporary file. Does nothing after a commit. */
	async discard(): Promise<void> {
		if (this.#open) await this.#close().catch(() => undefined);
		await rm(this.#aside, { force: true }).catch(() => undefined);
	}

	async #flush(): Promise<void> {
		if (this.#chunk === '') return;
		const bytes = Buffer.from(this.#chunk);
		this.#chunk = '';
		try {
			await this.#handle.appendFile(bytes);
		} catch (error) {
			throw writingFailed(error, this.path);
		}
		this.bytes += bytes.length;
	}

	async #close(): Promise<void> {
		this.#open = false;
		await this.#handle.close();
	}
}

function writingFailed(error: unknown, path: string): Failure {
	const failure = Failure.from(error, `Cannot write ${path}`);
	if (failure.reason !== 'full') return failure;
	return new Failure('full', failure.message, 'Free some disk space, or choose another folder.', { cause: error });
}

async function checkFree(path: string, replace: boolean): Promise<void> {
	const info = await lstat(path).catch(() => null);
	if (info === null || (replace && info.isFile())) return;
	throw new Failure(
		'exists',
		`${path} already exists.`,
		info.isFile() ? 'Choose another file, or allow overwriting.' : 'Choose a different file.',
	);
}
