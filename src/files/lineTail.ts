import type { FileHandle } from 'node:fs/promises';
import { Failure } from '../base/failure.ts';
import { longestLine, splitLines } from './jsonLines.ts';
import { openRegular } from './safeFile.ts';

/** Read and handed over at once, so that parsing a portion does not hold up the event loop. */
const portionBytes = 256 << 10;
const fingerprintBytes = 64;

/**
 * Reads a growing file of lines, each complete line once. Its position is always the end of a line: what follows is read
 * again when more of it is there. It notices when the file is no longer the one it was reading: another inode, shorter
 * than the position, or other bytes before the position.
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

	/** The next complete lines; null when there are none now; 'replaced' when all that was read no longer holds. */
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
		// A line longer than a portion: look at more of it, up to the longest that is read; then step over it unseen.
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
