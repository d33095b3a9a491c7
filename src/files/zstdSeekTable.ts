import type { ByteSource } from './byteSource.ts';

/*
 * Seek table of the seekable Zstandard format (zstd/contrib/seekable_format): a skippable frame at the end of the file
 * with the sizes of all frames.
 */

const footerBytes = 9;
const footerMagic = 0x8f92eab1;
const tableMagic = 0x184d2a5e;
const maxFrames = 4_000_000;

interface SeekEntry {
	readonly offset: number;
	readonly length: number;
	/** Decompressed size. */
	readonly content: number;
}

/** Returns the frames with contents, or null if the file has no seek table that describes it exactly. */
export async function seekTable(file: ByteSource): Promise<SeekEntry[] | null> {
	if (file.size < footerBytes + 8) return null;
	const footer = await file.read(file.size - footerBytes, footerBytes);
	if (footer.length < footerBytes || footer.readUInt32LE(5) !== footerMagic) return null;
	const frames = footer.readUInt32LE(0);
	const entryBytes = (footer.readUInt8(4) & 0x80) === 0 ? 8 : 12;
	const tableBytes = frames * entryBytes + footerBytes;
	const start = file.size - tableBytes - 8;
	if (frames > maxFrames || start < 0) return null;
	const table = await file.read(start, tableBytes + 8);
	if (table.length < tableBytes + 8) return null;
	if (table.readUInt32LE(0) !== tableMagic || table.readUInt32LE(4) !== tableBytes) return null;
	const entries: SeekEntry[] = [];
	let offset = 0;
	for (let i = 0; i < frames; i++) {
		const length = table.readUInt32LE(8 + i * entryBytes);
		const content = table.readUInt32LE(12 + i * entryBytes);
		if (content > 0) entries.push({ offset, length, content });
		offset += length;
	}
	return offset === start ? entries : null;
}
