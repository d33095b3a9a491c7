/**
 * A buffer that a thread reuses for reading files. A new one for each file would stay in memory until garbage
 * collection, which largely ignores memory outside the heap.
 */
let free: Buffer | null = null;

/** Size of the buffer that is kept, in bytes. */
export const scratchBytes = 2 << 20;

/** Returns a buffer of the given size, with undefined contents. */
export function takeBuffer(bytes: number): Buffer {
	const kept = free;
	if (kept === null || kept.length !== bytes) return Buffer.allocUnsafe(bytes);
	free = null;
	return kept;
}

/** Releases a buffer that is no longer used. */
export function giveBuffer(buffer: Buffer): void {
	if (buffer.length === scratchBytes) free = buffer;
}
