import { sharedSearch, windowBytes } from './byteSearch.ts';

/**
 * A buffer that a thread reuses for reading files: the window of its search, so that searched files are not copied. A new
 * one for each file would stay in memory until garbage collection, which largely ignores memory outside the heap.
 */
let taken = false;

/** Size of the reused buffer, in bytes. */
export const scratchBytes = windowBytes;

/** Returns a buffer of the given size, with undefined contents. */
export function takeBuffer(bytes: number): Buffer {
	if (taken || bytes !== scratchBytes) return Buffer.allocUnsafe(bytes);
	taken = true;
	return sharedSearch().window;
}

/** Releases a buffer that is no longer used. */
export function giveBuffer(buffer: Buffer): void {
	if (buffer === sharedSearch().window) taken = false;
}
