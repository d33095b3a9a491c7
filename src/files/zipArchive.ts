import { pipeline, Readable, type Transform } from 'node:stream';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { Failure } from '../base/failure.ts';
import type { ByteSource } from './byteSource.ts';
import { localMark, type ZipMember } from './zipMember.ts';
import { recoverMembers } from './zipRecovery.ts';
import { decodeZstd, type ReadAt, zstdFrameAt, zstdStream } from './zstdFrames.ts';

/* Zip archives (PKWARE APPNOTE.TXT 6.3), including Zip64 and members compressed with Zstandard. */

const endMark = 0x06054b50;
const end64Mark = 0x06064b50;
const locator64Mark = 0x07064b50;
const entryMark = 0x02014b50;
const methods = { stored: 0, deflate: 8, zstd: 93 } as const;
/** Sizes of an end record without its comment and of a Zip64 locator, and the maximum comment length. */
const endBytes = 22;
const locatorBytes = 20;
const longestComment = 0xffff;
const largestDirectory = 256 << 20;

/** Returns whether a file starts like a zip archive. */
export function isZip(head: Uint8Array): boolean {
	return head[0] === 0x50 && head[1] === 0x4b && head[2] === 3 && head[3] === 4;
}

/** The directory of a zip archive. Nothing in the archive is trusted: every size is checked before memory is used. */
export class ZipArchive {
	readonly #source: Pick<ByteSource, 'size' | 'read'>;
	/** Members in directory order. If a name occurs more than once, all occurrences are listed. */
	readonly members: readonly ZipMember[];
	/** Problem with the directory, as a sentence fragment; null if there is none. */
	readonly damage: string | null;

	private constructor(source: Pick<ByteSource, 'size' | 'read'>, members: readonly ZipMember[], damage: string | null) {
		this.#source = source;
		this.members = members;
		this.damage = damage;
	}

	/** Reads the directory or, if it is damaged, the members' local headers. Never fails because of the contents. */
	static async open(source: Pick<ByteSource, 'size' | 'read'>): Promise<ZipArchive> {
		try {
			return new ZipArchive(source, await readDirectory(source), null);
		} catch (error) {
			return new ZipArchive(source, await recoverMembers(source), (error as Error).message);
		}
	}

	/**
	 * Decodes a member and verifies its checksum. Fails with Failure `unsupported` if this Node.js lacks the compression
	 * method, and otherwise with an Error whose message is a sentence fragment.
	 * @param limit maximum size of the result
	 */
	async read(member: ZipMember, limit: number): Promise<Buffer> {
		const { method, packed, size, encrypted, crc } = member;
		if (encrypted) throw new Error('is encrypted');
		if (size > limit || packed > limit) throw new Error(`is larger than ${Math.floor(limit / 2 ** 20)} MiB`);
		const start = await this.#bodyOf(member);
		const body = await this.#source.read(start, Math.min(packed, Math.max(0, this.#source.size - start)));
		if (body.length < packed) throw new Error('is truncated');
		const plain = await decoded(body, method, size);
		if (plain.length !== size) throw new Error(`has ${plain.length} bytes instead of ${size}`);
		if (zlib.crc32(plain) !== crc) throw new Error('is damaged: its checksum is wrong');
		return plain;
	}

	/**
	 * Decodes a member in pieces, with no limit on its size. After the last piece, verifies its size and checksum. Fails
	 * with Failure `unsupported` if this Node.js lacks the compression method, and otherwise with an Error whose message
	 * is a sentence fragment.
	 */
	async *pieces(member: ZipMember): AsyncGenerator<Buffer> {
		const { method, packed, size, encrypted, crc } = member;
		if (encrypted) throw new Error('is encrypted');
		const start = await this.#bodyOf(member);
		const source = this.#source;
		const read = (offset: number, length: number) => source.read(start + offset, length);
		let [bytes, sum] = [0, 0];
		for await (const piece of piecesOf(read, packed, method)) {
			bytes += piece.length;
			if (bytes > size) break;
			sum = zlib.crc32(piece, sum);
			yield piece;
		}
		if (bytes !== size || sum !== crc) throw new Error('is damaged: its size or checksum is wrong');
	}

	/** Returns the position of a member's data. */
	async #bodyOf({ offset }: ZipMember): Promise<number> {
		const head = await this.#source.read(offset, 30);
		if (head.length < 30 || head.readUInt32LE(0) !== localMark) throw new Error('is missing');
		return offset + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
	}
}

const pieceBytes = 1 << 20;
const decodedPieceBytes = 256 << 10;
const truncated = 'is truncated';

async function* bytesOf(read: ReadAt, from: number, to: number): AsyncGenerator<Buffer> {
	for (let at = from; at < to; ) {
		const piece = await read(at, Math.min(pieceBytes, to - at));
		if (piece.length === 0) throw new Error(truncated);
		at += piece.length;
		yield piece;
	}
}

async function* piecesOf(read: ReadAt, packed: number, method: number): AsyncGenerator<Buffer> {
	if (method === methods.stored) yield* bytesOf(read, 0, packed);
	else if (method === methods.deflate) {
		yield* decompressed(bytesOf(read, 0, packed), zlib.createInflateRaw({ chunkSize: decodedPieceBytes }));
	} else if (method === methods.zstd) {
		for (let at = 0; at < packed; ) {
			const frame = await zstdFrameAt(read, at, packed);
			if (frame === null) throw new Error(truncated);
			at += frame.length;
			if (!frame.skippable) yield* decompressed(bytesOf(read, frame.offset, at), zstdStream(decodedPieceBytes));
		}
	} else throw new Error(`is compressed with method ${method}, which is not supported`);
}

async function* decompressed(body: AsyncIterable<Buffer>, through: Transform): AsyncGenerator<Buffer> {
	// Propagates errors in both directions, even if the caller stops reading. They are thrown where the bytes are read.
	pipeline(Readable.from(body), through, () => undefined);
	try {
		yield* through as AsyncIterable<Buffer>;
	} catch (error) {
		if (error instanceof Failure || (error as Error).message === truncated) throw error;
		throw new Error(`cannot be decompressed: ${(error as Error).message.slice(0, 200)}`);
	}
}

async function decoded(body: Buffer, method: number, size: number): Promise<Buffer> {
	if (method === methods.stored) return body;
	const maxOutputLength = Math.max(1, size);
	try {
		// Decoding is limited to the size that the entry claims; even one extra byte is an error.
		if (method === methods.deflate) return await promisify(zlib.inflateRaw)(body, { maxOutputLength });
		if (method === methods.zstd) return await decodeZstd(body, maxOutputLength);
	} catch (error) {
		if (error instanceof Failure) throw error;
		throw new Error(`cannot be decompressed: ${(error as Error).message.slice(0, 200)}`);
	}
	throw new Error(`is compressed with method ${method}, which is not supported`);
}

async function readDirectory(source: Pick<ByteSource, 'size' | 'read'>): Promise<ZipMember[]> {
	const { at, size, count, end } = await readEnd(source);
	if (size > largestDirectory || at + size > end) throw new Error('its directory is missing');
	const bytes = await source.read(at, size);
	const members: ZipMember[] = [];
	for (let from = 0; members.length < count; ) {
		if (from + 46 > bytes.length || bytes.readUInt32LE(from) !== entryMark) {
			throw new Error(`entry ${members.length + 1} in its directory is missing`);
		}
		const name = bytes.readUInt16LE(from + 28);
		const extra = bytes.readUInt16LE(from + 30);
		members.push(memberAt(bytes, from, name, extra));
		from += 46 + name + extra + bytes.readUInt16LE(from + 32);
	}
	// Otherwise, a small archive could expand to any amount of data.
	const packed = members.reduce((sum, member) => sum + member.packed, 0);
	if (packed > source.size) throw new Error('its members overlap');
	return members;
}

async function readEnd(source: Pick<ByteSource, 'size' | 'read'>) {
	const start = Math.max(0, source.size - endBytes - longestComment - locatorBytes);
	const tail = await source.read(start, source.size - start);
	let end = tail.length - endBytes;
	while (end >= 0 && tail.readUInt32LE(end) !== endMark) end--;
	if (end < 0) throw new Error('it has no end record');
	const plain = {
		count: tail.readUInt16LE(end + 10),
		size: tail.readUInt32LE(end + 12),
		at: tail.readUInt32LE(end + 16),
		end: start + end,
	};
	const is64 = plain.count === 0xffff || plain.size === 0xffffffff || plain.at === 0xffffffff;
	if (!is64 || end < locatorBytes || tail.readUInt32LE(end - locatorBytes) !== locator64Mark) return plain;
	const place = Number(tail.readBigUInt64LE(end - locatorBytes + 8));
	const record = place + 56 <= source.size ? await source.read(place, 56) : Buffer.alloc(0);
	if (record.length < 56 || record.readUInt32LE(0) !== end64Mark) throw new Error('its Zip64 end record is missing');
	return {
		count: Number(record.readBigUInt64LE(32)),
		size: Number(record.readBigUInt64LE(40)),
		at: Number(record.readBigUInt64LE(48)),
		end: place,
	};
}

function memberAt(bytes: Buffer, from: number, nameBytes: number, extraBytes: number): ZipMember {
	let size = bytes.readUInt32LE(from + 24);
	let packed = bytes.readUInt32LE(from + 20);
	let offset = bytes.readUInt32LE(from + 42);
	const extra = zip64Fields(bytes.subarray(from + 46 + nameBytes, from + 46 + nameBytes + extraBytes));
	// Only fields that do not fit are in the extra record, in this order.
	if (size === 0xffffffff) size = extra.shift() ?? size;
	if (packed === 0xffffffff) packed = extra.shift() ?? packed;
	if (offset === 0xffffffff) offset = extra.shift() ?? offset;
	return {
		name: bytes.toString('utf8', from + 46, from + 46 + nameBytes),
		encrypted: (bytes.readUInt16LE(from + 8) & 1) !== 0,
		method: bytes.readUInt16LE(from + 10),
		crc: bytes.readUInt32LE(from + 16),
		packed,
		size,
		offset,
	};
}

/** Returns the 64-bit numbers in the Zip64 extra field, or an empty list if there is none. */
function zip64Fields(extra: Buffer): number[] {
	for (let at = 0; at + 4 <= extra.length; ) {
		const length = extra.readUInt16LE(at + 2);
		const end = Math.min(extra.length, at + 4 + length);
		if (extra.readUInt16LE(at) === 1) {
			const numbers: number[] = [];
			for (let from = at + 4; from + 8 <= end; from += 8) numbers.push(Number(extra.readBigUInt64LE(from)));
			return numbers;
		}
		at += 4 + length;
	}
	return [];
}
