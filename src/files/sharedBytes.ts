import { read } from 'node:fs';
import { promisify } from 'node:util';
import type { ByteSource } from './byteSource.ts';

const readDescriptor = promisify(read);

/** A file that another thread of this process has opened, and closes when it is no longer read. */
export interface SharedFile {
	readonly descriptor: number;
	readonly size: number;
	readonly modifiedMs: number;
	readonly stamp: string;
}

/** The bytes of a file that another thread has opened. */
export class SharedBytes implements ByteSource {
	readonly #descriptor: number;
	readonly size: number;
	readonly modifiedMs: number;
	readonly stamp: string;

	constructor({ descriptor, size, modifiedMs, stamp }: SharedFile) {
		this.#descriptor = descriptor;
		this.size = size;
		this.modifiedMs = modifiedMs;
		this.stamp = stamp;
	}

	async read(offset: number, length: number): Promise<Buffer> {
		const buffer = Buffer.allocUnsafe(length);
		let filled = 0;
		while (filled < length) {
			const { bytesRead } = await readDescriptor(this.#descriptor, buffer, filled, length - filled, offset + filled);
			if (bytesRead === 0) break;
			filled += bytesRead;
		}
		return buffer.subarray(0, filled);
	}

	bytesBefore(position: number): Promise<Buffer> {
		const start = Math.max(0, position - 64);
		return this.read(start, position - start);
	}

	close(): Promise<void> {
		return Promise.resolve();
	}
}
