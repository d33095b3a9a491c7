import type { FileHandle } from 'node:fs/promises';
import { Failure } from '../../base/failure.ts';
import { openRegular } from '../safeFile.ts';

/** A regular file below a folder that nobody vouches for. */
export class OpenedFile {
	readonly #handle: FileHandle;
	/** When it was opened; what is written later is not read through this object. */
	readonly size: number;
	readonly modifiedMs: number;
	readonly stamp: string;
	readonly identity: string;

	private constructor(handle: FileHandle, size: number, modifiedMs: number, stamp: string, identity: string) {
		this.#handle = handle;
		this.size = size;
		this.modifiedMs = modifiedMs;
		this.stamp = stamp;
		this.identity = identity;
	}

	static async open(folder: string, path: string): Promise<OpenedFile> {
		const handle = await openRegular(folder, path);
		try {
			const { dev, ino, size, mtimeNs, mtimeMs } = await handle.stat({ bigint: true });
			const stamp = `${dev}-${ino}-${size}-${mtimeNs}`;
			return new OpenedFile(handle, Number(size), Number(mtimeMs), stamp, `${dev}-${ino}`);
		} catch (error) {
			await handle.close();
			throw Failure.from(error, `Cannot read ${path}`);
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
