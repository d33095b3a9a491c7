import { read } from 'node:fs';
import { promisify } from 'node:util';
import type { ByteSource } from './byteSource.ts';
import { type PositionedReader, readAt } from './readAt.ts';

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
	readonly #reader: PositionedReader;
	readonly size: number;
	readonly modifiedMs: number;
	readonly stamp: string;

	constructor({ descriptor, size, modifiedMs, stamp }: SharedFile) {
		this.#reader = { read: (...range) => readDescriptor(descriptor, ...range) };
		this.size = size;
		this.modifiedMs = modifiedMs;
		this.stamp = stamp;
	}

	read(offset: number, length: number): Promise<Buffer> {
		return readAt(this.#reader, offset, length);
	}

	bytesBefore(position: number): Promise<Buffer> {
		const start = Math.max(0, position - 64);
		return this.read(start, position - start);
	}

	close(): Promise<void> {
		return Promise.resolve();
	}
}
