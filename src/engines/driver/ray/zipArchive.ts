import { promisify } from 'node:util';
import { deflateRaw } from 'node:zlib';
import { Failure } from '../../../base/failure.ts';

export interface ZipEntry {
	/** Relative path with `/` separators. */
	readonly path: string;
	readonly bytes: Uint8Array;
}

const compress = promisify(deflateRaw);
/** Maximum archive size. The whole archive is sent in one request. */
const largestArchive = 0x7fff_ffff;
/** Fixed date, 1980-01-01, so equal files produce equal bytes. */
const fixedDate = 0x0021;
const unixFile = (0o100644 << 16) >>> 0;

const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
	let c = n;
	for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
	return c >>> 0;
});

/** Returns the CRC-32 used in ZIP files (polynomial 0x04C11DB7, reflected). */
function crc32(bytes: Uint8Array): number {
	let c = 0xffffffff;
	for (const byte of bytes) c = (crcTable[(c ^ byte) & 0xff] as number) ^ (c >>> 8);
	return (c ^ 0xffffffff) >>> 0;
}

/**
 * Builds a ZIP archive (PKWARE APPNOTE 6.3.3, without ZIP64). Equal entries produce equal bytes, because Ray names
 * packages by content.
 * @throws `full` above 2 GB
 */
export async function zipArchive(entries: readonly ZipEntry[]): Promise<Buffer> {
	const parts: Buffer[] = [];
	const directory: Buffer[] = [];
	let offset = 0;
	for (const { path, bytes } of [...entries].sort((a, b) => (a.path < b.path ? -1 : 1))) {
		const name = Buffer.from(path, 'utf8');
		const packed = await compress(bytes);
		const stored = packed.length >= bytes.length;
		const body = stored ? Buffer.from(bytes) : packed;
		const crc = crc32(bytes);
		const common = Buffer.alloc(26);
		common.writeUInt16LE(20, 0);
		common.writeUInt16LE(0x0800, 2); // File names are UTF-8.
		common.writeUInt16LE(stored ? 0 : 8, 4);
		common.writeUInt16LE(0, 6);
		common.writeUInt16LE(fixedDate, 8);
		common.writeUInt32LE(crc, 10);
		common.writeUInt32LE(body.length, 14);
		common.writeUInt32LE(bytes.length, 18);
		common.writeUInt16LE(name.length, 22);
		const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, name, body]);
		const entry = Buffer.alloc(14);
		entry.writeUInt32LE(unixFile, 6);
		entry.writeUInt32LE(offset, 10);
		directory.push(Buffer.concat([Buffer.from('PK\x01\x02', 'latin1'), Buffer.from([20, 3]), common, entry, name]));
		parts.push(local);
		offset += local.length;
		if (offset > largestArchive) {
			throw new Failure(
				'full',
				'The files required by the job exceed 2 GB.',
				'Move the data to a location that the cluster can read.',
			);
		}
	}
	const list = Buffer.concat(directory);
	const end = Buffer.alloc(22);
	end.write('PK\x05\x06', 0, 'latin1');
	end.writeUInt16LE(directory.length, 8);
	end.writeUInt16LE(directory.length, 10);
	end.writeUInt32LE(list.length, 12);
	end.writeUInt32LE(offset, 16);
	return Buffer.concat([...parts, list, end]);
}
