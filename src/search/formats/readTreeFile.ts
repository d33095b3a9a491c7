import { basename, dirname } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import { factsOfTree } from '../../core/search/formats/factsOfTree.ts';
import type { ReadTree, TreeFormat, TreeLimits } from '../../core/search/formats/treeFormat.ts';
import { findTreeFormat, treeFormats } from '../../core/search/formats/treeFormats.ts';
import { parseLine } from '../../files/jsonLines.ts';
import { parseLooseJson } from '../../files/looseJson.ts';
import { FileTooLarge, openRegular, readSmallFile } from '../../files/safeFile.ts';
import { readTreeLog } from '../treeLogFile.ts';

/** Larger files from other programs are not read, because each is a single JSON value. */
export const largestTreeFile = 64 << 20;
/**
 * Maximum nesting depth of files from other programs, which nest nodes inside their parents. Format readers use
 * explicit work lists instead of recursion.
 */
const deepestTreeFile = 1_000_000;
export const treeLimits: TreeLimits = { nodes: 500_000, trees: 10_000 };
/** Size limit for the start of our own logs, which can begin with a very long prompt. */
const longestStart = 4 << 20;

export interface TreeFile {
	/** `reasoning-lab`, or the name of another program's format. */
	readonly format: string;
	/** Display name. */
	readonly title: string;
	/** Trees in the file, at least one. */
	readonly trees: readonly ReadTree[];
	/** Descriptions of what could not be read; problems that affect only one tree are stored with that tree. */
	readonly faults: readonly string[];
}

export const ownTreeFormat = 'reasoning-lab';

/**
 * Reads a file that contains trees, from this program or another one. It must be a regular file of limited size and not
 * a link. The format is determined from the content, not from the name. Fails with `missing`, with `unsupported` if it
 * is too large or in an unknown format, with `corrupt` if it is not JSON, and with `invalid` if it contains no tree.
 */
export async function readTreeFile(path: string): Promise<TreeFile> {
	const name = basename(path);
	if (await beginsAsOwnLog(path)) {
		const { events, tree, unreadable, faults } = await readTreeLog(path);
		const messages = faults.map(({ line, message }) => `Line ${line} ${message}.`);
		if (unreadable > faults.length)
			messages.push(`${formatCounted(unreadable - faults.length, 'more line')} could not be read.`);
		const only = { name: tree.start?.id ?? name, events, facts: factsOfTree(tree), faults: [] };
		return { format: ownTreeFormat, title: 'Reasoning Lab', trees: [only], faults: messages };
	}
	const text = await readSmallFile(dirname(path), name, largestTreeFile).catch((error: unknown) => {
		throw tooLarge(error, name);
	});
	let value: unknown;
	try {
		value = parseLooseJson(text, { depth: deepestTreeFile });
	} catch (error) {
		throw new Failure('corrupt', `${name} is not JSON: ${(error as Error).message.slice(0, 200)}.`, wanted());
	}
	const format = findTreeFormat(value);
	if (format === null) throw new Failure('unsupported', `${name} is not a tree log in a known format.`, wanted());
	return treesOf(format, value, name);
}

function treesOf(format: TreeFormat, value: unknown, name: string): TreeFile {
	const trees: ReadTree[] = [];
	const faults: string[] = [];
	for (const entry of format.trees(value, treeLimits)) {
		if ('fault' in entry) faults.push(`${entry.name} ${entry.fault}.`);
		else trees.push(entry);
	}
	if (trees.length === 0) {
		throw new Failure('invalid', `${name} looks like a ${format.title} log, but contains no tree: ${faults[0] ?? ''}`);
	}
	return { format: format.name, title: format.title, trees, faults };
}

/** Returns whether the first line is one of our events, complete or truncated. */
async function beginsAsOwnLog(path: string): Promise<boolean> {
	const handle = await openRegular(dirname(path), basename(path));
	try {
		const prefix = Buffer.alloc(4096);
		const { bytesRead } = await handle.read(prefix, 0, prefix.length, 0);
		let text = prefix.toString('utf8', 0, bytesRead);
		if (!text.trimStart().startsWith('{')) return false;
		if (!text.includes('\n')) {
			const { size } = await handle.stat();
			const line = Buffer.alloc(Math.min(size, longestStart));
			await handle.read(line, 0, line.length, 0);
			text = line.toString('utf8');
		}
		const [first = ''] = text.split('\n', 1);
		const value = parseLine(Buffer.from(first));
		return typeof value === 'object' && value !== null && 't' in value;
	} finally {
		await handle.close();
	}
}

function tooLarge(error: unknown, name: string): Failure {
	return error instanceof FileTooLarge
		? new Failure('unsupported', `${name} is larger than the limit of ${largestTreeFile >> 20} MiB.`)
		: Failure.from(error);
}

const wanted = (): string => `Supported formats: Reasoning Lab logs; ${treeFormats.map((f) => f.looksFor).join('; ')}.`;
