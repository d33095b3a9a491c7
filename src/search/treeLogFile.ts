import { constants } from 'node:fs';
import { lstat, rename, truncate, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Failure } from '../base/failure.ts';
import { SearchTree } from '../core/search/searchTree.ts';
import { asidePath } from '../files/atomicFile.ts';
import { LineSplitter } from '../files/jsonLines.ts';
import { openNamed, openRegular } from '../files/safeFile.ts';
import type { TreeEvent } from '../protocol/treeLog.ts';
import { readTreeLine, TreeLineFault } from '../runs/searchLog.ts';

/** Logs larger than this cannot be continued. */
export const largestTreeLog = 512 << 20;
/** Maximum line length, enough for a node with the alternatives for several thousand tokens. */
const longestTreeLine = 16 << 20;
const maxFaults = 20;
const chunkBytes = 1 << 20;

export interface TreeLogFault {
	/** 1-based line number. */
	readonly line: number;
	readonly message: string;
}

export interface ReadTreeLog {
	readonly events: readonly TreeEvent[];
	readonly tree: SearchTree;
	/** Number of lines that are not valid events, and details about the first few. */
	readonly unreadable: number;
	readonly faults: readonly TreeLogFault[];
	/** Number of bytes up to the end of the last complete line. */
	readonly whole: number;
	/** Incomplete data that a crash left after the last complete line. */
	readonly torn: Uint8Array;
}

/**
 * Reads an entire search log. A last line left incomplete by a crash is not an error; invalid lines are counted and
 * skipped. Fails with `missing`, with `invalid` if it is not a search log, and with `version` if it was written by a
 * newer version.
 */
export async function readTreeLog(path: string): Promise<ReadTreeLog> {
	const handle = await openRegular(dirname(path), basename(path));
	const events: TreeEvent[] = [];
	const tree = new SearchTree();
	const faults: TreeLogFault[] = [];
	let unreadable = 0;
	let number = 0;
	let whole = 0;
	const blame = (message: string) => {
		unreadable++;
		if (faults.length < maxFaults) faults.push({ line: number, message });
	};
	try {
		const { size } = await handle.stat();
		if (size > largestTreeLog) {
			throw new Failure('unsupported', `${path} is ${size} bytes, which exceeds the limit of ${largestTreeLog} bytes.`);
		}
		const lines = new LineSplitter(longestTreeLine);
		const buffer = Buffer.alloc(chunkBytes);
		let read = 0;
		for (;;) {
			const { bytesRead } = await handle.read(buffer, 0, chunkBytes, read);
			if (bytesRead === 0) break;
			const chunk = Uint8Array.prototype.slice.call(buffer, 0, bytesRead);
			const end = chunk.lastIndexOf(0x0a);
			if (end !== -1) whole = read + end + 1;
			read += bytesRead;
			for (const line of lines.push(chunk)) {
				number++;
				const event = readTreeLine(line);
				if (event instanceof TreeLineFault) {
					if (number === 1 && event.newer) {
						throw new Failure('version', `${path} ${event.message}.`, 'Update Reasoning Lab.');
					}
					blame(event.message);
				} else if (tree.apply(event)) events.push(event);
				else blame('is not valid at this position');
			}
		}
		if (lines.dropped > 0) blame(`is longer than ${longestTreeLine} bytes`);
		const torn = new Uint8Array(read - whole);
		if (torn.length > 0) await handle.read(torn, 0, torn.length, whole);
		if (tree.start === null) throw new Failure('invalid', `${path} is not a search log: it has no start event.`);
		return { events, tree, unreadable, faults, whole, torn };
	} finally {
		await handle.close();
	}
}

/**
 * Moves whatever a crash left after the last complete line to a file next to the log, so that the next event starts on
 * a new line. A last line that lacks only its line break is kept.
 * @returns the event on that last line, if it is valid
 */
export async function setTornAside(path: string, { whole, torn }: ReadTreeLog): Promise<TreeEvent | null> {
	if (torn.length === 0) return null;
	const last = readTreeLine(torn);
	try {
		if (!(last instanceof TreeLineFault)) {
			const handle = await openNamed(path, path, constants.O_WRONLY | constants.O_APPEND);
			try {
				await handle.appendFile('\n');
				await handle.datasync();
			} finally {
				await handle.close();
			}
			return last;
		}
		const aside = asidePath(path);
		await writeFile(aside, torn, { flag: 'wx' });
		await rename(aside, `${path}.torn`);
		await truncate(path, whole);
		return null;
	} catch (error) {
		throw Failure.from(error, `Cannot repair ${path}`);
	}
}

/**
 * Fails with `exists` if the path exists, unless it is an empty file from a search that was killed before writing
 * anything.
 */
export async function requireNew(path: string): Promise<void> {
	const info = await lstat(path).catch(() => null);
	if (info === null || (info.isFile() && info.size === 0)) return;
	throw new Failure('exists', `${path} already exists.`, 'Choose another name for the log.');
}
