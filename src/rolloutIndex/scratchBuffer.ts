import { sharedSearch, windowBytes } from './byteSearch.ts';

/**
 * A buffer that a thread reuses for reading files: the window of its search, so that searched files are not copied. A new
 * one for each file would stay in memory until garbage collection, which largely ignores memory outside the heap.
 */
let free: Buffer | null | undefined;

/** Size of the buffer that is kept, in bytes. */
export const scratchBytes = windowBytes;

/** Returns a buffer of the given size, with undefined contents. */
export function takeBuffer(bytes: number): Buffer {
	if (free === undefined) free = sharedSearch().window;
	if (free === null || free.length !== bytes) return Buffer.allocUnsafe(bytes);
	const kept = free;
	free = null;
	return kept;
}

/** Releases a buffer that is no longer used. */
export function giveBuffer(buffer: Buffer): void {
	if (buffer.length === scratchBytes) free = buffer;
}
