/** Something that reads like a `FileHandle` of Node.js. */
export interface PositionedReader {
	read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
}

/** Reads from an offset in bytes. Returns fewer bytes than requested if the file is shorter or has shrunk. */
export async function readAt(handle: PositionedReader, offset: number, length: number): Promise<Buffer> {
	const buffer = Buffer.allocUnsafe(length);
	let filled = 0;
	while (filled < length) {
		const { bytesRead } = await handle.read(buffer, filled, length - filled, offset + filled);
		if (bytesRead === 0) break;
		filled += bytesRead;
	}
	return buffer.subarray(0, filled);
}
