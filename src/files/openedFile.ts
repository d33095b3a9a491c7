import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { readAt } from './readAt.ts';
import { openNamed, openRegular } from './safeFile.ts';

/**
 * How long to cache the check that a folder is not a link, in milliseconds. Needed because a step folder can hold
 * 100,000 files.
 */
const believedMs = 1000;
const believed = { folder: '', until: 0 };

/** Like `openRegular`, but skips the folder check if it passed recently. */
async function openBelow(folder: string, path: string): Promise<FileHandle> {
	const slash = path.lastIndexOf('/');
	const within = join(folder, path.slice(0, Math.max(0, slash)));
	const name = path.slice(slash + 1);
	const plain = name !== '' && name !== '.' && name !== '..' && !name.includes('\\');
	if (!plain || !constants.O_NOFOLLOW || believed.folder !== within || performance.now() > believed.until) {
		const handle = await openRegular(folder, path);
		believed.folder = within;
		believed.until = performance.now() + believedMs;
		return handle;
	}
	// Fails for links, and does not block on pipes.
	const flags = constants.O_RDONLY | constants.O_NOFOLLOW | (constants.O_NONBLOCK ?? 0);
	return open(join(within, name), flags).catch((error: unknown) => {
		if ((error as { code?: unknown }).code !== 'ELOOP') throw Failure.from(error, `Cannot read ${path}`);
		throw new Failure('invalid', `${path} is not a regular file, so it was not read.`);
	});
}

/** A regular file in an untrusted folder. */
export class OpenedFile {
	readonly #handle: FileHandle;
	/** Size when the file was opened. Data appended later is not visible through this object. */
	readonly size: number;
	readonly modifiedMs: number;
	readonly stamp: string;

	private constructor(handle: FileHandle, size: number, modifiedMs: number, stamp: string) {
		this.#handle = handle;
		this.size = size;
		this.modifiedMs = modifiedMs;
		this.stamp = stamp;
	}

	/** Fails with `missing`, or with `invalid` for a link, pipe or device. */
	static async open(folder: string, path: string): Promise<OpenedFile> {
		const handle = await openBelow(folder, path);
		try {
			const stat = await handle.stat({ bigint: true });
			if (!stat.isFile()) throw new Failure('invalid', `${path} is not a regular file, so it was not read.`);
			const { dev, ino, size, mtimeNs, mtimeMs } = stat;
			return new OpenedFile(handle, Number(size), Number(mtimeMs), `${dev}-${ino}-${size}-${mtimeNs}`);
		} catch (error) {
			await handle.close();
			throw Failure.from(error, `Cannot read ${path}`);
		}
	}

	/**
	 * Opens a file chosen by the user. Follows links, but rejects pipes and devices. Fails with `missing` or `invalid`.
	 */
	static async chosen(path: string): Promise<OpenedFile> {
		const name = basename(path);
		const handle = await openNamed(path, name);
		try {
			const stat = await handle.stat({ bigint: true });
			const { dev, ino, size, mtimeNs, mtimeMs } = stat;
			return new OpenedFile(handle, Number(size), Number(mtimeMs), `${dev}-${ino}-${size}-${mtimeNs}`);
		} catch (error) {
			await handle.close();
			throw Failure.from(error, `Cannot read ${name}`);
		}
	}

	/** File descriptor, shared with the decoding thread. */
	get descriptor(): number {
		return this.#handle.fd;
	}

	/** Returns fewer bytes than requested if the file has shrunk. */
	read(offset: number, length: number): Promise<Buffer> {
		return readAt(this.#handle, offset, length);
	}

	/** Returns up to 64 bytes before a position. */
	bytesBefore(position: number): Promise<Buffer> {
		const start = Math.max(0, position - 64);
		return this.read(start, position - start);
	}

	close(): Promise<void> {
		return this.#handle.close();
	}
}
