import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { Failure } from '../base/failure.ts';

/*
 * Frames of Zstandard data (RFC 8878, section 3.1). Node.js decodes only the first frame of its input and ignores the
 * rest, so frames are located here and decoded one by one.
 */

const frameMagic = 0xfd2fb528;
const skippableMagic = 0x184d2a50;
/** Maximum frame header length: magic, descriptor, window, dictionary and content size. */
const longestHeader = 18;
const fcsBytes = [0, 2, 4, 8] as const;
const dictionaryBytes = [0, 1, 2, 4] as const;
const smallestChunk = 16 << 10;
const largestChunk = 8 << 20;
const spareBytes = 64;
/** Transcripts with token ids usually compress to between a third and a tenth of their size. */
const expectedRatio = 8;

/** A frame in compressed data. */
export interface ZstdFrame {
	readonly offset: number;
	/** Compressed size. */
	readonly length: number;
	/** Decompressed size; null if the frame does not declare it. 0 for a skippable frame. */
	readonly content: number | null;
	/** Whether the frame contains metadata instead of content. */
	readonly skippable: boolean;
}

/** Reads up to `length` bytes at a position. */
export type ReadAt = (offset: number, length: number) => Promise<Buffer> | Buffer;

/**
 * Locates the frame at a position by its block headers, without decoding it.
 * @returns null if the data ends before the frame does
 * @throws Error with a sentence fragment if no frame starts at the position
 */
export async function zstdFrameAt(read: ReadAt, offset: number, size: number): Promise<ZstdFrame | null> {
	const head = await read(offset, Math.min(longestHeader, size - offset));
	if (head.length < 8) return null;
	const magic = head.readUInt32LE(0);
	if (magic >>> 4 === skippableMagic >>> 4) {
		const length = 8 + head.readUInt32LE(4);
		return offset + length > size ? null : { offset, length, content: 0, skippable: true };
	}
	if (magic !== frameMagic) throw new Error('no Zstandard frame where one is expected');
	const descriptor = head[4] as number;
	const single = (descriptor & 0x20) !== 0;
	const flag = descriptor >> 6;
	const fcs = flag === 0 && single ? 1 : (fcsBytes[flag] as number);
	const fcsAt = 5 + (single ? 0 : 1) + (dictionaryBytes[descriptor & 3] as number);
	if (head.length < fcsAt + fcs) return null;
	const content = fcs === 0 ? null : contentSize(head, fcsAt, fcs);
	let at = offset + fcsAt + fcs;
	for (let last = false; !last; ) {
		if (at + 3 > size) return null;
		const block = await read(at, 3);
		if (block.length < 3) return null;
		const header = block.readUIntLE(0, 3);
		last = (header & 1) === 1;
		const type = (header >> 1) & 3;
		if (type === 3) throw new Error('a corrupt Zstandard block');
		at += 3 + (type === 1 ? 1 : header >> 3);
	}
	const end = at + ((descriptor & 4) === 0 ? 0 : 4);
	return end > size ? null : { offset, length: end - offset, content, skippable: false };
}

function contentSize(head: Buffer, at: number, bytes: number): number {
	if (bytes === 1) return head.readUInt8(at);
	if (bytes === 2) return head.readUInt16LE(at) + 256;
	return bytes === 4 ? head.readUInt32LE(at) : Number(head.readBigUInt64LE(at));
}

/**
 * Decodes one frame. Fails with Failure `unsupported` if this Node.js lacks Zstandard, or with an Error if the frame
 * is damaged or larger than `limit`.
 * @param partial whether to return the complete blocks of a frame that is truncated
 */
export async function decodeZstdFrame(frame: Buffer, limit: number, partial = false): Promise<Buffer> {
	// Available in Node.js since 22.15 and 23.8; the editor can bundle an older version.
	const { zstdDecompress } = zlib as Partial<Pick<typeof zlib, 'zstdDecompress'>>;
	if (zstdDecompress === undefined) throw withoutZstd(process.versions.node);
	const flush = partial ? { finishFlush: zlib.constants.ZSTD_e_flush } : {};
	const most = Math.max(1, limit);
	// Each output chunk waits for a thread, so the default of 16 KiB takes three times as long. A full chunk is followed
	// by another one, so make the chunk a little larger than the expected output.
	const expected = Math.min(largestChunk, most, frame.length * expectedRatio);
	const chunkSize = Math.max(smallestChunk, expected + spareBytes);
	return promisify(zstdDecompress)(frame, { maxOutputLength: most, chunkSize, ...flush });
}

/**
 * Decodes all frames of compressed data. Fails with the same errors as `decodeZstdFrame`, and also if a frame is
 * truncated.
 * @param limit maximum total size of the result
 */
export async function decodeZstd(data: Buffer, limit: number): Promise<Buffer> {
	const parts: Buffer[] = [];
	let left = limit;
	for (let at = 0; at < data.length; ) {
		const frame = await zstdFrameAt((offset, length) => data.subarray(offset, offset + length), at, data.length);
		if (frame === null) throw new Error('its compressed data is truncated');
		at += frame.length;
		if (frame.skippable) continue;
		const part = await decodeZstdFrame(data.subarray(frame.offset, at), left);
		left -= part.length;
		if (left < 0) throw new Error(`it is larger than ${limit} bytes`);
		parts.push(part);
	}
	return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
}

/** Returns a decoder for one frame. Fails with Failure `unsupported` if this Node.js lacks Zstandard. */
export function zstdStream(chunkSize: number): Transform {
	const { createZstdDecompress } = zlib as Partial<Pick<typeof zlib, 'createZstdDecompress'>>;
	if (createZstdDecompress === undefined) throw withoutZstd(process.versions.node);
	return createZstdDecompress({ chunkSize });
}

/** Exported for testing, because the Node.js that runs the tests might support Zstandard. */
export function withoutZstd(version: string): Failure {
	return new Failure(
		'unsupported',
		`Zstandard is not supported by Node.js ${version} (22.15 or newer is required).`,
		'Update the editor or Node.js, or decompress the file. Inspect logs: "inspect log convert --to json".',
	);
}
