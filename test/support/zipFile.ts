import { crc32, deflateRawSync, zstdCompressSync } from 'node:zlib';

export interface Member {
	readonly name: string;
	readonly text: string | Uint8Array;
	/** Compression method: stored, Deflate or Zstandard. */
	readonly method?: 0 | 8 | 93 | 12;
	/** Size claimed in the headers, instead of the actual length. */
	readonly size?: number;
	/** Compressed data to write instead of compressing the text. */
	readonly body?: Buffer;
}

/** Returns the extra field with 64-bit numbers (APPNOTE.TXT 4.5.3). */
function zip64Extra(...numbers: number[]): Buffer {
	const extra = Buffer.alloc(4 + 8 * numbers.length);
	extra.writeUInt16LE(1, 0);
	extra.writeUInt16LE(8 * numbers.length, 2);
	for (const [i, number] of numbers.entries()) extra.writeBigUInt64LE(BigInt(number), 4 + 8 * i);
	return extra;
}

/**
 * Builds a minimal zip archive (APPNOTE.TXT 4.3), without fields that are not read.
 * @param zip64 whether sizes and positions are in Zip64 records, as for archives over 4 GB
 */
export function zipFile(members: readonly Member[], zip64 = false): Buffer {
	const parts: Buffer[] = [];
	const directory: Buffer[] = [];
	let at = 0;
	for (const { name, text, method = 8, size, body: given } of members) {
		const plain = Buffer.from(text);
		const packed = method === 93 ? zstdCompressSync(plain) : method === 8 ? deflateRawSync(plain) : plain;
		const body = given ?? packed;
		const claimed = size ?? plain.length;
		const fields = Buffer.alloc(26);
		fields.writeUInt16LE(20, 0);
		fields.writeUInt16LE(method, 4);
		fields.writeUInt32LE(crc32(plain), 10);
		fields.writeUInt32LE(zip64 ? 0xffffffff : body.length, 14);
		fields.writeUInt32LE(zip64 ? 0xffffffff : claimed, 18);
		fields.writeUInt16LE(name.length, 22);
		const localExtra = zip64 ? zip64Extra(claimed, body.length) : Buffer.alloc(0);
		const extra = zip64 ? zip64Extra(claimed, body.length, at) : Buffer.alloc(0);
		const named = (bytes: Buffer, length: number) => {
			const copy = Buffer.from(bytes);
			copy.writeUInt16LE(length, 24);
			return copy;
		};
		const start = Buffer.from('PK\x03\x04', 'latin1');
		const local = Buffer.concat([start, named(fields, localExtra.length), Buffer.from(name), localExtra, body]);
		const tail = Buffer.alloc(14);
		tail.writeUInt32LE(zip64 ? 0xffffffff : at, 10);
		const entry = Buffer.from('PK\x01\x02\x14\x00', 'latin1');
		directory.push(Buffer.concat([entry, named(fields, extra.length), tail, Buffer.from(name), extra]));
		parts.push(local);
		at += local.length;
	}
	const list = Buffer.concat(directory);
	const end = Buffer.alloc(22);
	end.write('PK\x05\x06', 'latin1');
	end.writeUInt16LE(zip64 ? 0xffff : members.length, 10);
	end.writeUInt32LE(zip64 ? 0xffffffff : list.length, 12);
	end.writeUInt32LE(zip64 ? 0xffffffff : at, 16);
	return Buffer.concat([...parts, list, ...(zip64 ? [zip64End(members.length, list.length, at)] : []), end]);
}

function zip64End(count: number, size: number, at: number): Buffer {
	const record = Buffer.alloc(56);
	record.write('PK\x06\x06', 'latin1');
	record.writeBigUInt64LE(44n, 4);
	record.writeBigUInt64LE(BigInt(count), 32);
	record.writeBigUInt64LE(BigInt(size), 40);
	record.writeBigUInt64LE(BigInt(at), 48);
	const locator = Buffer.alloc(20);
	locator.write('PK\x06\x07', 'latin1');
	locator.writeBigUInt64LE(BigInt(at + size), 8);
	return Buffer.concat([record, locator]);
}
