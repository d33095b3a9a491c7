import type { OpenedFile } from './openedFile.ts';

/*
 * Pages of an SQLite database with its write-ahead log (https://www.sqlite.org/fileformat2.html). Both files are opened
 * read-only. SQLite itself would create a -shm file next to a database in WAL mode, and could recover or checkpoint it.
 */

const fileMagic = 'SQLite format 3\0';
const headerBytes = 100;
const walHeaderBytes = 32;
const walFrameBytes = 24;
/** Largest write-ahead log to read; SQLite checkpoints at 4 MB by default. */
const largestWal = 512 << 20;
const keptPages = 2000;

/** A database that cannot be read. The message is a sentence fragment. */
export class SqliteError extends Error {}

export class SqlitePages {
	readonly #file: OpenedFile;
	readonly #committed: ReadonlyMap<number, Buffer>;
	readonly #kept = new Map<number, Buffer>();
	readonly pageSize: number;
	/** Bytes per page, excluding the reserved area. */
	readonly usable: number;
	readonly pages: number;
	readonly encoding: 'utf8' | 'utf16le' | 'utf16be';

	private constructor(file: OpenedFile, header: Buffer, committed: ReadonlyMap<number, Buffer>, pages: number) {
		this.#file = file;
		this.#committed = committed;
		this.pageSize = pageSizeIn(header);
		this.usable = this.pageSize - header.readUInt8(20);
		this.pages = pages;
		this.encoding = (['utf8', 'utf8', 'utf16le', 'utf16be'] as const)[header.readUInt32BE(56)] ?? 'utf8';
	}

	/**
	 * Reads the header and all committed pages of the write-ahead log.
	 * @param wal the log; null if there is none
	 */
	static async open(file: OpenedFile, wal: OpenedFile | null): Promise<SqlitePages> {
		const start = await file.read(0, headerBytes);
		// A log next to a database that is not in WAL mode is stale. In a new database, the mode is in the log too.
		const inWalMode = start.length < headerBytes || start.readUInt8(18) === 2;
		const log = wal === null || !inWalMode ? null : await readWal(wal);
		// A database whose first pages are only in the log is empty on disk.
		const header = log?.pages.get(1)?.subarray(0, headerBytes) ?? start;
		if (header.length < headerBytes || header.toString('latin1', 0, 16) !== fileMagic) {
			throw new SqliteError('not an SQLite database');
		}
		const size = pageSizeIn(header);
		if (size < 512 || size > 65536 || (size & (size - 1)) !== 0 || header.readUInt8(20) > size - 480) {
			throw new SqliteError('a damaged SQLite database: its page size is invalid');
		}
		const committed = log !== null && log.pageSize === size ? log.pages : new Map<number, Buffer>();
		const pages = log?.count ?? Math.floor(file.size / size);
		return new SqlitePages(file, header, committed, pages);
	}

	/** Returns a page by its number, starting at 1. */
	async page(number: number): Promise<Buffer> {
		if (!Number.isInteger(number) || number < 1 || number > this.pages) {
			throw new SqliteError(`page ${number} does not exist`);
		}
		const known = this.#committed.get(number) ?? this.#kept.get(number);
		if (known !== undefined) return known;
		const bytes = await this.#file.read((number - 1) * this.pageSize, this.pageSize);
		if (bytes.length < this.pageSize) throw new SqliteError(`page ${number} is missing`);
		this.#kept.set(number, bytes);
		if (this.#kept.size > keptPages) this.#kept.delete(this.#kept.keys().next().value as number);
		return bytes;
	}
}

function pageSizeIn(header: Buffer): number {
	const size = header.readUInt16BE(16);
	return size === 1 ? 65536 : size;
}

interface WalPages {
	readonly pageSize: number;
	readonly pages: ReadonlyMap<number, Buffer>;
	/** Number of pages in the database after the last commit. */
	readonly count: number;
}

/** Returns the newest version of each committed page, or null if nothing in the log is valid. */
async function readWal(wal: OpenedFile): Promise<WalPages | null> {
	if (wal.size < walHeaderBytes) return null;
	if (wal.size > largestWal) throw new SqliteError(`its write-ahead log is larger than ${largestWal >> 20} MiB`);
	const bytes = await wal.read(0, wal.size);
	if (bytes.length < walHeaderBytes) return null;
	const magic = bytes.readUInt32BE(0);
	if (magic >>> 1 !== 0x377f0682 >>> 1) return null;
	const sum = new WalChecksum((magic & 1) === 1);
	sum.add(bytes.subarray(0, 24));
	if (!sum.equals(bytes.readUInt32BE(24), bytes.readUInt32BE(28))) return null;
	const pageSize = bytes.readUInt32BE(8);
	if (pageSize < 512 || pageSize > 65536) return null;
	const pages = new Map<number, Buffer>();
	let pending = new Map<number, Buffer>();
	let count = 0;
	// Frames after an invalid one belong to an earlier generation of the log.
	for (let at = walHeaderBytes; at + walFrameBytes + pageSize <= bytes.length; at += walFrameBytes + pageSize) {
		const frame = bytes.subarray(at, at + walFrameBytes);
		const page = bytes.subarray(at + walFrameBytes, at + walFrameBytes + pageSize);
		if (!frame.subarray(8, 16).equals(bytes.subarray(16, 24))) break;
		sum.add(frame.subarray(0, 8));
		sum.add(page);
		if (!sum.equals(frame.readUInt32BE(16), frame.readUInt32BE(20))) break;
		pending.set(frame.readUInt32BE(0), page);
		const size = frame.readUInt32BE(4);
		if (size === 0) continue;
		for (const [number, content] of pending) pages.set(number, content);
		pending = new Map();
		count = size;
	}
	return count === 0 ? null : { pageSize, pages, count };
}

/** Cumulative checksum of a write-ahead log, over pairs of 32-bit words. */
class WalChecksum {
	readonly #bigEndian: boolean;
	#first = 0;
	#second = 0;

	constructor(bigEndian: boolean) {
		this.#bigEndian = bigEndian;
	}

	add(bytes: Buffer): void {
		for (let at = 0; at + 8 <= bytes.length; at += 8) {
			const one = this.#bigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at);
			const other = this.#bigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4);
			this.#first = (this.#first + one + this.#second) >>> 0;
			this.#second = (this.#second + other + this.#first) >>> 0;
		}
	}

	equals(first: number, second: number): boolean {
		return this.#first === first && this.#second === second;
	}
}
