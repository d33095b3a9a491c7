import type { ByteSource } from './byteSource.ts';
import type { ZipMember } from './zipMember.ts';

const headerBytes = 30;
const chunkBytes = 1 << 20;
const maxMembers = 1_000_000;
const mark = Buffer.from('PK\x03\x04', 'latin1');

/**
 * Finds the members of a zip archive by their local headers, for an archive without a usable directory. Members whose
 * size is not in their header are not found, because their end is unknown.
 */
export async function recoverMembers(source: Pick<ByteSource, 'size' | 'read'>): Promise<ZipMember[]> {
	const members: ZipMember[] = [];
	let at = await nextMark(source, 0);
	while (at !== null && members.length < maxMembers) {
		const member = await memberAt(source, at);
		if (member !== null) members.push(member.member);
		at = await nextMark(source, member?.end ?? at + mark.length);
	}
	return members;
}

async function memberAt(source: Pick<ByteSource, 'size' | 'read'>, offset: number) {
	const head = await source.read(offset, headerBytes);
	if (head.length < headerBytes) return null;
	const flags = head.readUInt16LE(6);
	const nameBytes = head.readUInt16LE(26);
	const extraBytes = head.readUInt16LE(28);
	let packed = head.readUInt32LE(18);
	let size = head.readUInt32LE(22);
	const rest = await source.read(offset + headerBytes, nameBytes + extraBytes);
	if (rest.length < nameBytes + extraBytes) return null;
	// In a local header, both sizes are in the Zip64 record if either is too large.
	if (size === 0xffffffff || packed === 0xffffffff) {
		const at = rest.indexOf(Buffer.from([1, 0, 16, 0]), nameBytes);
		if (at < 0 || at + 20 > rest.length) return null;
		size = Number(rest.readBigUInt64LE(at + 4));
		packed = Number(rest.readBigUInt64LE(at + 12));
	}
	const end = offset + headerBytes + nameBytes + extraBytes + packed;
	if ((flags & 8) !== 0 && packed === 0) return null;
	const member: ZipMember = {
		name: rest.toString('utf8', 0, nameBytes),
		encrypted: (flags & 1) !== 0,
		method: head.readUInt16LE(8),
		crc: head.readUInt32LE(14),
		packed,
		size,
		offset,
	};
	// A member whose end is missing is reported as truncated when it is read.
	return { member, end: Math.min(end, source.size) };
}

/** Returns the position of the next header at or after `from`, or null if there is none. */
async function nextMark(source: Pick<ByteSource, 'size' | 'read'>, from: number): Promise<number | null> {
	// Usually the next member starts where the last one ends.
	if ((await source.read(from, mark.length)).equals(mark)) return from;
	for (let at = from; at + headerBytes <= source.size; at += chunkBytes) {
		const chunk = await source.read(at, Math.min(chunkBytes + mark.length - 1, source.size - at));
		const found = chunk.indexOf(mark);
		if (found >= 0) return at + found;
		if (chunk.length === 0) return null;
	}
	return null;
}
