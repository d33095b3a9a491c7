import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { openNamed, openRegular } from './safeFile.ts';

/** A step may have a hundred thousand files in one folder: that it is not a link is inspected once in so long. */
const believedMs = 1000;
const believed = { folder: '', until: 0 };

/** As `openRegular`, but for what was seen a moment ago of the folder that the file is in. */
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
	// A link fails here, and a pipe is not waited for.
	const flags = constants.O_RDONLY | constants.O_NOFOLLOW | (constants.O_NONBLOCK ?? 0);
	return open(join(within, name), flags).catch((error: unknown) => {
		if ((error as { code?: unknown }).code !== 'ELOOP') throw Failure.from(error, `Cannot read ${path}`);
		throw new Failure('invalid', `${path} is not a regular file, so it was not read.`);
	});
}

/** A regular file below a folder that nobody vouches for. */
export class OpenedFile {
	readonly #handle: FileHandle;
	/** When it was opened; what is written later is not read through this object. */
	readonly size: number;
	readonly modifiedMs: number;
	readonly stamp: string;

	private constructor(handle: FileHandle, size: number, modifiedMs: number, stamp: string) {
		this.#handle = handle;
		this.size = size;
		this.modifiedMs = modifiedMs;
		this.stamp = stamp;
	}

	/** Fails with `missing`, or with `invalid` for a link, a pipe, a device. */
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
	 * A file that a person chose: a link is followed, but never into a pipe or a device. Fails with `missing`, or with
	 * `invalid`.
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

	/** For the decoding thread, which shares it. */
	get descriptor(): number {
		return this.#handle.fd;
	}

	/** Fewer bytes than asked for where the file has become shorter. */
	async read(offset: number, length: number): Promise<Buffer> {
		const buffer = Buffer.allocUnsafe(length);
		let filled = 0;
		while (filled < length) {
			const { bytesRead } = await this.#handle.read(buffer, filled, length - filled, offset + filled);
			if (bytesRead === 0) break;
			filled += bytesRead;
		}
		return buffer.subarray(0, filled);
	}

	/** Up to 64 bytes that end at a position. */
	bytesBefore(position: number): Promise<Buffer> {
		const start = Math.max(0, position - 64);
		return this.read(start, position - start);
	}

	close(): Promise<void> {
		return this.#handle.close();
	}
}
