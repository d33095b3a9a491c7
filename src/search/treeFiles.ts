import { lstat } from 'node:fs/promises';
import { Failure } from '../base/failure.ts';
import type { SearchResult } from '../protocol/searchWorker.ts';
import type { TreeEvent } from '../protocol/treeLog.ts';
import { readTreeFile, type TreeFile } from './formats/readTreeFile.ts';

interface Held {
	readonly stamp: string;
	readonly file: TreeFile;
}

/** Maximum number of recently read files to keep. They are kept because views request a file in chunks. */
const maxHeld = 2;
const maxAtOnce = 2000;

/** Trees in other programs' files, served on request from a window. */
export class TreeFiles {
	/** The most recently requested file is last. */
	readonly #held = new Map<string, Held>();
	readonly #reading = new Map<string, Promise<TreeFile>>();

	async trees(path: string): Promise<SearchResult<'trees'>> {
		const { title, trees, faults } = await this.#read(path);
		return {
			format: title,
			trees: trees.map(({ name, events }) => ({ name, events: events.length })),
			faults: [...faults, ...trees.flatMap(({ faults: own }) => own)].slice(0, 50),
		};
	}

	async events(path: string, tree: number, from: number, limit: number): Promise<SearchResult<'treeEvents'>> {
		const events = await this.#eventsOf(path, tree);
		return { events: events.slice(from, from + Math.min(limit, maxAtOnce)), total: events.length };
	}

	async text(path: string, tree: number, node: number): Promise<SearchResult<'treeText'>> {
		const event = (await this.#eventsOf(path, tree)).find((one) => one.t === 'node' && one.id === node);
		if (event?.t === 'node') return { text: event.text };
		throw new Failure('missing', `The tree has no node ${node}.`);
	}

	async #eventsOf(path: string, tree: number): Promise<readonly TreeEvent[]> {
		const { trees } = await this.#read(path);
		const found = trees[tree];
		if (found === undefined) throw new Failure('missing', `${path} has no tree ${tree + 1}.`);
		return found.events;
	}

	async #read(path: string): Promise<TreeFile> {
		const info = await lstat(path).catch(() => null);
		const stamp = info === null ? '' : `${info.size} ${info.mtimeMs} ${info.ino}`;
		const held = this.#held.get(path);
		this.#held.delete(path);
		if (held !== undefined && held.stamp === stamp) {
			this.#held.set(path, held);
			return held.file;
		}
		const reading = this.#reading.get(path) ?? readTreeFile(path).finally(() => this.#reading.delete(path));
		this.#reading.set(path, reading);
		const file = await reading;
		this.#held.set(path, { stamp, file });
		for (const other of [...this.#held.keys()].slice(0, -maxHeld)) this.#held.delete(other);
		return file;
	}
}
