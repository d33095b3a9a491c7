import type { FileHandle } from 'node:fs/promises';
import { Failure } from '../base/failure.ts';
import { longestLine, splitLines } from './jsonLines.ts';
import { openRegular } from './safeFile.ts';

/** Size of a batch. Batches are small enough that parsing one does not block the event loop. */
const portionBytes = 256 << 10;
const fingerprintBytes = 64;

/**
 * Reads each complete line of a growing file once. The read position is always at the end of a line, and an incomplete
 * last line is reread when it grows. Detects when the file has been replaced: a different inode, a size smaller than
 * the position, or different bytes before the position.
 */
export class LineTail {
	readonly #root: string;
	readonly #relative: string;
	#position = 0;
	#inode: bigint | null = null;
	#before = new Uint8Array(0);
	#portion = portionBytes;

	constructor(root: string, relative: string) {
		this.#root = root;
		this.#relative = relative;
	}

	/**
	 * Returns the next complete lines, null if there are none yet, or 'replaced' if the file changed and all lines read
	 * so far are invalid.
	 */
	async read(): Promise<Uint8Array[] | null | 'replaced'> {
		let handle: FileHandle;
		try {
			handle = await openRegular(this.#root, this.#relative);
		} catch (error) {
			if (!(error instanceof Failure) || error.reason !== 'missing') throw error;
			return this.#position === 0 ? null : 'replaced';
		}
		try {
			const { size, ino } = await handle.stat({ bigint: true });
			if (this.#inode !== null && ino !== this.#inode && this.#position > 0) return 'replaced';
			this.#inode = ino;
			if (size < BigInt(this.#position)) return 'replaced';
			if (size === BigInt(this.#position)) return null;
			const start = this.#position - this.#before.length;
			const length = Math.min(Number(size) - this.#position, this.#portion) + this.#before.length;
			const buffer = Buffer.allocUnsafe(length);
			const { bytesRead } = await handle.read(buffer, 0, length, start);
			if (
				bytesRead < this.#before.length ||
				buffer.compare(this.#before, 0, this.#before.length, 0, this.#before.length)
			)
				return 'replaced';
			return this.#take(buffer.subarray(this.#before.length, bytesRead));
		} finally {
			await handle.close();
		}
	}

	#take(bytes: Uint8Array): Uint8Array[] | null {
		const { lines, consumed } = splitLines(bytes);
		if (lines.length > 0) {
			this.#position += consumed;
			this.#before = bytes.slice(Math.max(0, consumed - fingerprintBytes), consumed);
			this.#portion = portionBytes;
			return lines;
		}
		// The line is longer than a batch: extend the read up to the maximum line length, then skip the line.
		if (bytes.length < this.#portion) return null;
		if (this.#portion < longestLine) {
			this.#portion = Math.min(this.#portion * 4, longestLine);
			return [];
		}
		this.#position += bytes.length;
		this.#before = bytes.slice(-fingerprintBytes);
		return [];
	}
}
