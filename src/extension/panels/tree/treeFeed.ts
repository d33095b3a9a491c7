import { basename, dirname } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../../base/failure.ts';
import { formatCounted } from '../../../base/format.ts';
import { LineTail } from '../../../files/lineTail.ts';
import { openRegular } from '../../../files/safeFile.ts';
import { readTreeEvent } from '../../../protocol/treeEventReader.ts';
import type { TreeEvent } from '../../../protocol/treeLog.ts';
import { readTreeLine, TreeLineFault } from '../../../runs/searchLog.ts';
import { cutEvent } from './treeEventCut.ts';

/** Facts about a tree file, apart from its events. */
export interface TreeFileFacts {
	/** File format, if written by another program; otherwise null. */
	readonly foreign: string | null;
	readonly trees: readonly string[];
	/** Whether the file contains its search spec, which is required to continue the search. */
	readonly hasSpec: boolean;
	/** Whether the search plays episodes, according to its spec. */
	readonly episodes: boolean;
	/** Descriptions of unreadable parts. */
	readonly faults: readonly string[];
	/** Problem the search is trying to solve, if known. */
	readonly problem: string | null;
}

/** Reads the events of one tree in a file, in batches. */
export interface TreeFeed {
	readonly facts: TreeFileFacts;
	/**
	 * Returns the next events, one line each without line endings, in the format of treeEventReader.ts; null if there are
	 * none at the moment; or 'replaced' if the file was replaced and all earlier events are invalid.
	 */
	next(): Promise<readonly Uint8Array[] | null | 'replaced'>;
	/** Returns a node's complete text. */
	text(node: number): Promise<string>;
}

/** Maximum time to decode lines before yielding to the editor, in milliseconds. */
const stretchMs = 3;
const longestLineBytes = 8 << 20;
const maxEvents = 500_000;
const maxFaults = 8;
const longestWhole = 4 << 20;
const markWithin = 200;

const pause = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Prefixes of the most frequent events in a log. */
const frequent = ['node', 'score', 'select', 'visit'].map((kind) => Buffer.from(`{"t":"${kind}",`));
/** Maximum length of a line that never needs to be shortened. */
const longestPlain = 4000;
/** Maximum number of lines validated by one parser call, and their maximum size in bytes. */
const maxPlain = { lines: 200, bytes: 64 << 10 } as const;

function isPlain(line: Uint8Array): boolean {
	if (line.length > longestPlain || line.at(-1) !== 0x7d) return false;
	return frequent.some((head) => head.every((byte, i) => line[i] === byte));
}

/**
 * Returns the number of consecutive lines that need no shortening. Large trees have several hundred thousand lines,
 * most of which are sent unchanged.
 */
function plainRun(lines: readonly Uint8Array[], from: number): number {
	let bytes = 0;
	let at = from;
	for (; at < lines.length && at - from < maxPlain.lines && bytes < maxPlain.bytes; at++) {
		const line = lines[at] as Uint8Array;
		if (!isPlain(line)) break;
		bytes += line.length;
	}
	return at - from;
}

/** Returns whether all of the lines are events. */
function areEvents(lines: readonly Uint8Array[]): boolean {
	try {
		const values = JSON.parse(
			`[${Buffer.concat(lines.flatMap((line) => [comma, line])).toString('utf8', 1)}]`,
		) as unknown[];
		return values.length === lines.length && values.every((value) => readTreeEvent(value) !== null);
	} catch {
		return false;
	}
}
const comma = Buffer.from(',');

/** Part of the spec of a search that plays episodes. */
const episodesSchema = v.looseObject({ environment: v.looseObject({}) });

const encoder = new TextEncoder();
const lineOf = (event: TreeEvent): Uint8Array => encoder.encode(JSON.stringify(cutEvent(event)));

/** Follows a search log, line by line. */
export class OwnTreeFeed implements TreeFeed {
	readonly #path: string;
	readonly #tail: LineTail;
	readonly #faults: string[] = [];
	#waiting: Uint8Array[] = [];
	#line = 0;
	#moreFaults = 0;
	#events = 0;
	#hasSpec = false;
	#episodes = false;
	#problem: string | null = null;

	private constructor(path: string) {
		this.#path = path;
		this.#tail = new LineTail(dirname(path), basename(path));
	}

	/** Opens a log and reads its first lines, which describe how the search was started. */
	static async open(path: string): Promise<OwnTreeFeed> {
		const feed = new OwnTreeFeed(path);
		const lines = await feed.#tail.read();
		if (lines !== null && lines !== 'replaced') {
			feed.#waiting = lines;
			const [first] = lines;
			const start = first === undefined || first.length > longestLineBytes ? null : readTreeLine(first);
			if (start !== null && !(start instanceof TreeLineFault)) feed.#note(start);
		}
		return feed;
	}

	get facts(): TreeFileFacts {
		const more = this.#moreFaults === 0 ? [] : [`and ${formatCounted(this.#moreFaults, 'more line')}`];
		return {
			foreign: null,
			trees: ['search'],
			hasSpec: this.#hasSpec,
			episodes: this.#episodes,
			faults: [...this.#faults, ...more],
			problem: this.#problem,
		};
	}

	async next(): Promise<readonly Uint8Array[] | null | 'replaced'> {
		if (this.#waiting.length === 0) {
			if (this.#events >= maxEvents) return null;
			const lines = await this.#tail.read();
			if (lines === null || lines === 'replaced') return lines;
			this.#waiting = lines;
		}
		await pause();
		const events: Uint8Array[] = [];
		const end = performance.now() + stretchMs;
		let taken = 0;
		/** Lines up to this index are checked individually, because at least one of them is not an event. */
		let slowUntil = 0;
		while (taken < this.#waiting.length && performance.now() < end) {
			const run = taken < slowUntil ? 0 : plainRun(this.#waiting, taken);
			if (run > 0) {
				const lines = this.#waiting.slice(taken, taken + run);
				if (areEvents(lines)) {
					events.push(...lines);
					taken += run;
					this.#line += run;
					continue;
				}
				slowUntil = taken + run;
			}
			const line = this.#waiting[taken++] as Uint8Array;
			this.#line++;
			const event = line.length > longestLineBytes ? new TreeLineFault('is too long to show') : readTreeLine(line);
			if (event instanceof TreeLineFault) {
				this.#blame(`line ${this.#line} ${event.message}`);
				continue;
			}
			this.#note(event);
			events.push(lineOf(event));
		}
		this.#waiting.splice(0, taken);
		this.#events += events.length;
		if (this.#events >= maxEvents) {
			this.#waiting = [];
			this.#blame(`events after line ${this.#line} are not shown (limit: ${maxEvents})`);
		}
		return events;
	}

	/** Rereads the log up to the node, because text is not kept in memory. */
	async text(node: number): Promise<string> {
		const tail = new LineTail(dirname(this.#path), basename(this.#path));
		const mark = `"id":${node},`;
		let end = performance.now() + stretchMs;
		for (let lines = await tail.read(); lines !== null && lines !== 'replaced'; lines = await tail.read()) {
			for (const line of lines) {
				if (performance.now() > end) {
					await pause();
					end = performance.now() + stretchMs;
				}
				// The node ID is near the beginning of a line, before the text.
				const head = Buffer.from(line.buffer, line.byteOffset, Math.min(line.length, markWithin));
				if (line.length > longestLineBytes || !head.includes(mark)) continue;
				const event = readTreeLine(line);
				if (!(event instanceof TreeLineFault) && event.t === 'node' && event.id === node) {
					return event.text.slice(0, longestWhole);
				}
			}
		}
		throw new Failure('missing', `${this.#path} has no node ${node}.`);
	}

	#note(event: TreeEvent): void {
		if (event.t !== 'start') return;
		this.#hasSpec = event.spec !== undefined && event.foreign === undefined;
		this.#episodes = v.is(episodesSchema, event.spec);
		this.#problem = event.problem.prompt;
	}

	#blame(words: string): void {
		if (this.#faults.length < maxFaults) this.#faults.push(words);
		else this.#moreFaults++;
	}
}

/** Reads trees from other programs; implemented by the search worker. */
export interface TreeFileReader {
	request(
		method: 'trees',
		params: { path: string },
	): Promise<{ format: string; trees: { name: string; events: number }[]; faults: string[] }>;
	request(
		method: 'treeEvents',
		params: { path: string; tree: number; from: number; limit: number },
	): Promise<{ events: TreeEvent[]; total: number }>;
	request(method: 'treeText', params: { path: string; tree: number; node: number }): Promise<{ text: string }>;
}

const portion = 400;

/** One tree in a file from another program. */
export class ForeignTreeFeed implements TreeFeed {
	readonly facts: TreeFileFacts;
	readonly #reader: TreeFileReader;
	readonly #path: string;
	readonly #tree: number;
	readonly #stamp: string;
	#from = 0;

	private constructor(reader: TreeFileReader, path: string, tree: number, stamp: string, facts: TreeFileFacts) {
		this.#reader = reader;
		this.#path = path;
		this.#tree = tree;
		this.#stamp = stamp;
		this.facts = facts;
	}

	static async open(reader: TreeFileReader, path: string, tree: number): Promise<ForeignTreeFeed> {
		const stamp = await stampOf(path);
		const { format, trees, faults } = await reader.request('trees', { path });
		const chosen = Math.min(tree, Math.max(0, trees.length - 1));
		const none = { hasSpec: false, episodes: false, problem: null };
		const facts = { foreign: format, trees: trees.map(({ name }) => name), faults, ...none };
		return new ForeignTreeFeed(reader, path, chosen, stamp, facts);
	}

	async next(): Promise<readonly Uint8Array[] | null | 'replaced'> {
		if ((await stampOf(this.#path)) !== this.#stamp) return 'replaced';
		if (this.#from >= maxEvents) return null;
		const ask = { path: this.#path, tree: this.#tree, from: this.#from, limit: portion };
		const { events } = await this.#reader.request('treeEvents', ask);
		if (events.length === 0) return null;
		this.#from += events.length;
		return events.map(lineOf);
	}

	async text(node: number): Promise<string> {
		return (await this.#reader.request('treeText', { path: this.#path, tree: this.#tree, node })).text;
	}
}

async function stampOf(path: string): Promise<string> {
	const handle = await openRegular(dirname(path), basename(path));
	try {
		const { size, mtimeMs, ino } = await handle.stat();
		return `${size} ${mtimeMs} ${ino}`;
	} finally {
		await handle.close();
	}
}

const headBytes = 64 << 10;

/** Opens the events of a file. Our own logs are followed; other files are read by the worker. */
export async function openTreeFeed(path: string, tree: number, reader: TreeFileReader): Promise<TreeFeed> {
	const handle = await openRegular(dirname(path), basename(path));
	try {
		const head = Buffer.alloc(headBytes);
		const { bytesRead } = await handle.read(head, 0, headBytes, 0);
		const text = head.toString('utf8', 0, bytesRead).trimStart();
		// The file is empty, or it is a log that begins with our own start event, even if that line is incomplete.
		if (text === '' || /^\{"t":"start"/.test(text)) return OwnTreeFeed.open(path);
	} finally {
		await handle.close();
	}
	return ForeignTreeFeed.open(reader, path, tree);
}
