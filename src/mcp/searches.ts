import { lstat, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatAddress } from '../core/address/dataAddress.ts';
import { SearchTree } from '../core/search/searchTree.ts';
import { runFiles } from '../runs/runFiles.ts';
import { searchLogsIn } from '../runs/searchLog.ts';
import { readTreeFile, type TreeFile } from '../search/formats/readTreeFile.ts';
import type { Runs } from './runs.ts';

/** A search log in a run or a server folder. */
export interface KnownSearch {
	/** Name of the run that the log belongs to; null for a log in the `searches` folder of a server folder. */
	readonly run: string | null;
	/** As in addresses: the file name in a run, otherwise the path relative to a server folder. */
	readonly search: string;
	readonly path: string;
}

export interface OpenedTree {
	readonly name: string;
	readonly tree: SearchTree;
	readonly file: TreeFile;
	/** Address of the tree, or of one of its nodes. */
	address(node: number | null): string;
}

/** Maximum number of files whose trees are kept in memory, because clients read a tree page by page. */
const maxKept = 2;

/** Searches and trees that the server exposes. */
export class Searches {
	readonly #runs: Runs;
	/** By path; the most recently used file is last. */
	readonly #kept = new Map<
		string,
		{ readonly stamp: string; readonly trees: Map<number, SearchTree>; readonly file: TreeFile }
	>();

	constructor(runs: Runs) {
		this.#runs = runs;
	}

	/** Lists search logs, newest name first. */
	async list(): Promise<KnownSearch[]> {
		const found: KnownSearch[] = [];
		for (const { name, folder } of await this.#runs.list()) {
			for (const path of await searchLogsIn(join(folder, runFiles.searches))) {
				found.push({ run: name, search: basename(path), path });
			}
		}
		for (const folder of this.#runs.folders) {
			for (const path of await searchLogsIn(join(folder, runFiles.searches))) {
				found.push({ run: null, search: `${runFiles.searches}/${basename(path)}`, path });
			}
		}
		return found.toSorted((a, b) => basename(b.path).localeCompare(basename(a.path), 'en'));
	}

	/**
	 * Opens a tree file, either in a run by name or anywhere inside the server's folders. Fails with `missing` or
	 * `denied`, as `Runs` does, and with the same errors as `readTreeFile`.
	 * @param number number of the tree in the file, from 1
	 */
	async open(run: string | null, search: string, number: number): Promise<OpenedTree> {
		const { path, named } = await this.#find(run, search);
		const kept = await this.#read(path);
		const read = kept.file.trees[number - 1];
		if (read === undefined) {
			throw new Failure(
				'missing',
				`${basename(path)} has no tree ${number}.`,
				`Its trees are numbered from 1 to ${kept.file.trees.length}.`,
			);
		}
		let tree = kept.trees.get(number);
		if (tree === undefined) {
			tree = new SearchTree();
			for (const event of read.events) tree.apply(event);
			kept.trees.set(number, tree);
		}
		const address = (node: number | null) => formatAddress({ kind: 'search', ...named, tree: number, node });
		return { name: read.name, tree, file: kept.file, address };
	}

	/** Returns the path of a run's search log, which need not exist. Fails with the same errors as `open`. */
	async pathOf(run: string, search: string): Promise<string> {
		return (await this.#find(run, search)).path;
	}

	async #find(run: string | null, search: string) {
		if (run === null) {
			const path = await this.#runs.fileWithin(search);
			return { path, named: { run: null, search: this.#runs.relativePath(path) } };
		}
		const { name, folder } = await this.#runs.find(run);
		if (basename(search) !== search) {
			throw new Failure(
				'invalid',
				`"${search}" is not a file name.`,
				'Call list_searches to list the searches of a run.',
			);
		}
		return { path: join(await realpath(folder), runFiles.searches, search), named: { run: name, search } };
	}

	async #read(path: string) {
		const info = await lstat(path).catch(() => null);
		const stamp = info === null ? '' : `${info.size} ${info.mtimeMs} ${info.ino}`;
		const kept = this.#kept.get(path);
		this.#kept.delete(path);
		const fresh = kept?.stamp === stamp ? kept : { stamp, trees: new Map(), file: await readTreeFile(path) };
		this.#kept.set(path, fresh);
		for (const other of [...this.#kept.keys()].slice(0, -maxKept)) this.#kept.delete(other);
		return fresh;
	}
}
