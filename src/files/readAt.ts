import type { FileHandle } from 'node:fs/promises';

/** Reads from an offset in bytes. Returns fewer bytes than requested if the file is shorter or has shrunk. */
export async function readAt(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
	const buffer = Buffer.allocUnsafe(length);
	let filled = 0;
	while (filled < length) {
		const { bytesRead } = await handle.read(buffer, filled, length - filled, offset + filled);
		if (bytesRead === 0) break;
		filled += bytesRead;
	}
	return buffer.subarray(0, filled);
}
