import type { FileHandle } from 'node:fs/promises';
import { openRegular } from './safeFile.ts';

export interface LineOverviewOptions {
	/** Maximum number of lines. */
	readonly lines?: number;
	/** Minimum file size, in bytes, for an overview. Smaller files load quickly enough without one. */
	readonly atLeast?: number;
}

const newline = 0x0a;
/** Minimum number of bytes read per line. */
const smallestWindow = 4 << 10;
const largestWindow = 1 << 20;
/** Total number of bytes an overview may read. */
const budget = 24 << 20;
const readsAtOnce = 8;

/**
 * Samples lines evenly across a long file by seeking, in file order, including the first and last complete lines. Gives
 * a preview of the whole file long before it has been read. Returns null if the file is short. Fails with the same
 * errors as `openRegular`.
 */
export async function overviewLines(
	root: string,
	relative: string,
	{ lines = 600, atLeast = 8 << 20 }: LineOverviewOptions = {},
): Promise<Uint8Array[] | null> {
	const handle = await openRegular(root, relative);
	try {
		const { size } = await handle.stat();
		if (size < atLeast || size === 0) return null;
		const window = await windowOf(handle, size);
		const count = Math.max(2, Math.min(lines, Math.floor(budget / window), Math.floor(size / window)));
		const found = new Map<number, Uint8Array>();
		for (let i = 0; i < count; i += readsAtOnce) {
			const places = Array.from({ length: Math.min(readsAtOnce, count - i) }, (_, j) => {
				const place = i + j;
				return place === count - 1
					? lastLine(handle, size, window)
					: lineAfter(handle, Math.floor((place * size) / (count - 1)), window);
			});
			for (const line of await Promise.all(places)) if (line !== null) found.set(line.start, line.bytes);
		}
		return [...found].sort(([a], [b]) => a - b).map(([, bytes]) => bytes);
	} finally {
		await handle.close();
	}
}

interface FoundLine {
	/** Byte offset of the line. */
	readonly start: number;
	readonly bytes: Uint8Array;
}

async function read(handle: FileHandle, position: number, length: number): Promise<Buffer> {
	const buffer = Buffer.allocUnsafe(length);
	const { bytesRead } = await handle.read(buffer, 0, length, position);
	return buffer.subarray(0, bytesRead);
}

/** Returns a read window of 2.5 times the longest line at the start of the file. */
async function windowOf(handle: FileHandle, size: number): Promise<number> {
	const head = await read(handle, 0, Math.min(size, 64 << 10));
	let longest = 0;
	let start = 0;
	for (let end = head.indexOf(newline); end !== -1; end = head.indexOf(newline, start)) {
		longest = Math.max(longest, end + 1 - start);
		start = end + 1;
	}
	if (start === 0) return largestWindow;
	return Math.min(largestWindow, Math.max(smallestWindow, Math.ceil(longest * 2.5)));
}

/** Returns the first line that begins at or after a position, or null if no complete line fits in the window. */
async function lineAfter(handle: FileHandle, position: number, window: number): Promise<FoundLine | null> {
	// The preceding byte shows whether a line begins exactly at the position.
	const before = Math.max(0, position - 1);
	const bytes = await read(handle, before, window);
	const start = position === 0 ? 0 : bytes.indexOf(newline) + 1;
	if (start === 0 && position > 0) return null;
	const end = bytes.indexOf(newline, start);
	return end < 0 ? null : { start: before + start, bytes: bytes.subarray(start, end) };
}

async function lastLine(handle: FileHandle, size: number, window: number): Promise<FoundLine | null> {
	const from = Math.max(0, size - window);
	const bytes = await read(handle, from, size - from);
	const end = bytes.lastIndexOf(newline);
	if (end < 0) return null;
	const start = end === 0 ? 0 : bytes.lastIndexOf(newline, end - 1) + 1;
	return start === 0 && from > 0 ? null : { start: from + start, bytes: bytes.subarray(start, end) };
}
