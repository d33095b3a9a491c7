import { zstdCompressSync } from 'node:zlib';

/**
 * Compresses text as independent frames.
 * @param table whether to append a seek table, as pyzstd's SeekableZstdFile does
 */
export function zstdFile(parts: readonly string[], table = false): Buffer {
	const frames = parts.map((part) => zstdCompressSync(Buffer.from(part)));
	if (!table) return Buffer.concat(frames);
	const entries = Buffer.alloc(8 * frames.length);
	for (const [i, frame] of frames.entries()) {
		entries.writeUInt32LE(frame.length, 8 * i);
		entries.writeUInt32LE(Buffer.byteLength(parts[i] as string), 8 * i + 4);
	}
	const head = Buffer.alloc(8);
	head.writeUInt32LE(0x184d2a5e, 0);
	head.writeUInt32LE(entries.length + 9, 4);
	const footer = Buffer.alloc(9);
	footer.writeUInt32LE(frames.length, 0);
	footer.writeUInt32LE(0x8f92eab1, 5);
	return Buffer.concat([...frames, head, entries, footer]);
}
