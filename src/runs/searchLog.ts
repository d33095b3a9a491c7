import { randomBytes } from 'node:crypto';
import { type FileHandle, lstat, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FileLock } from '../files/fileLock.ts';
import { parseLine, splitLines } from '../files/jsonLines.ts';
import { openRegular } from '../files/safeFile.ts';
import { decode } from '../protocol/decode.ts';
import { readTreeEvent } from '../protocol/treeEventReader.ts';
import { type TreeEvent, type TreeEventOf, treeEventSchema, treeLogFormat } from '../protocol/treeLog.ts';

/**
 * Extension of search logs, `<name>.jsonl` in a `searches` folder; locks for logs being written are stored next to
 * them.
 */
export const searchLogEnding = '.jsonl';
const lockFolder = '.locks';
/** Number of bytes to read from the start and the end of a log for a summary. */
const headBytes = 256 << 10;
const tailBytes = 64 << 10;

/**
 * Returns the lock folder that protects a log from a second writer, on this machine and on others that share the
 * folder.
 */
export function searchLockFolder(log: string): string {
	return join(dirname(log), lockFolder, basename(log, searchLogEnding));
}

/** Returns whether a process is currently writing to a log. */
export async function isBeingSearched(log: string): Promise<boolean> {
	return (await FileLock.holder(searchLockFolder(log)).catch(() => null)) !== null;
}

/** Returns a name for a new log: "2026-03-04-101500-mcts-3f9a.jsonl". */
export function searchLogName(strategy: string, now: Date): string {
	const two = (value: number) => String(value).padStart(2, '0');
	const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join('-');
	const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join('');
	const name = strategy.replace(/[^\w-]+/g, '-').slice(0, 40) || 'search';
	return `${day}-${time}-${name}-${randomBytes(2).toString('hex')}${searchLogEnding}`;
}

const made = /^\d{4}-\d\d-\d\d-\d{6}-.*-[0-9a-f]{4}$/;

/** Returns whether a log has its generated name and was not renamed by the user. */
export function isMadeName(log: string): boolean {
	return made.test(basename(log, searchLogEnding));
}

/** Why a line is not an event. */
export class TreeLineFault {
	/** Predicate of a sentence: "is not JSON". */
	readonly message: string;
	/** Whether a newer version of this program wrote the line. */
	readonly newer: boolean;

	constructor(message: string, newer = false) {
		this.message = message;
		this.newer = newer;
	}
}

/** Parses a line as an event. */
export function readTreeLine(line: Uint8Array): TreeEvent | TreeLineFault {
	const value = parseLine(line);
	if (value === undefined) return new TreeLineFault(line.length === 0 ? 'is empty' : 'is not JSON');
	const event = readTreeEvent(value);
	if (event !== null) {
		if (event.t !== 'start' || event.format <= treeLogFormat) return event;
		return new TreeLineFault(`was written by a newer version (format ${event.format})`, true);
	}
	const decoded = decode(treeEventSchema, value);
	const fault = decoded.ok ? undefined : decoded.faults[0];
	return new TreeLineFault(`is not a search event${fault?.path ? ` (${fault.path}: ${fault.message})` : ''}`);
}

/** Summary of a log for lists, computed from only its start and end. */
export interface SearchSummary {
	readonly log: string;
	readonly start: TreeEventOf<'start'>;
	/** The last event written; null if the search is running or was interrupted. */
	readonly end: TreeEventOf<'end'> | null;
	/** Number of nodes so far, not counting the problem (node 0); null if the end of the log does not show it. */
	readonly nodes: number | null;
	/** Modification time in milliseconds since the epoch. */
	readonly changed: number;
	readonly bytes: number;
}

/**
 * Reads the summary of a log, or returns null if the file is not a search log. Fails with the same errors as {@link
 * openRegular}.
 */
export async function readSearchSummary(log: string): Promise<SearchSummary | null> {
	const handle = await openRegular(dirname(log), basename(log));
	try {
		const { size, mtimeMs } = await handle.stat();
		const head = splitLines(await bytesOf(handle, 0, Math.min(size, headBytes)));
		const start = head.lines[0] === undefined ? null : readTreeLine(head.lines[0]);
		if (start === null || start instanceof TreeLineFault || start.t !== 'start') return null;
		if (start.foreign !== undefined) return null;
		const from = Math.max(0, size - tailBytes);
		const tail = splitLines(await bytesOf(handle, from, size - from)).lines.slice(from > 0 ? 1 : 0);
		let end: TreeEventOf<'end'> | null = null;
		let nodes: number | null = from > 0 ? null : 0;
		let last = true;
		for (const line of tail.reverse()) {
			const event = readTreeLine(line);
			if (event instanceof TreeLineFault) continue;
			if (last && event.t === 'end') end = event;
			// Users can prune and restore branches after a search has ended.
			if (event.t !== 'prune' && event.t !== 'restore') last = false;
			if (event.t !== 'node') continue;
			nodes = event.id;
			break;
		}
		return { log, start, end, nodes, changed: mtimeMs, bytes: size };
	} finally {
		await handle.close();
	}
}

async function bytesOf(handle: FileHandle, from: number, length: number): Promise<Uint8Array> {
	const buffer = Buffer.alloc(length);
	const { bytesRead } = await handle.read(buffer, 0, length, from);
	return buffer.subarray(0, bytesRead);
}

/**
 * Lists the logs in a `searches` folder by absolute path, up to `limit`, newest name first; a link does not count as a
 * folder.
 */
export async function searchLogsIn(folder: string, limit = 500): Promise<string[]> {
	if (!(await lstat(folder).catch(() => null))?.isDirectory()) return [];
	const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
	return entries
		.filter((entry) => entry.isFile() && entry.name.endsWith(searchLogEnding) && !entry.name.startsWith('.'))
		.map(({ name }) => join(folder, name))
		.sort()
		.reverse()
		.slice(0, limit);
}
