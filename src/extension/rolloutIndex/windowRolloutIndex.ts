import { join } from 'node:path';
import type * as vscode from 'vscode';
import { Disposable, type IDisposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { Failure } from '../../base/failure.ts';
import type { IndexMethod, IndexNews, IndexParams, IndexResult } from '../../protocol/rolloutIndex.ts';
import type { RunStore } from '../runStore.ts';
import { settings } from '../settings.ts';
import type { IndexClient } from './indexClient.ts';

export interface WindowRolloutIndexOptions {
	/** The extension's folder. */
	readonly extension: vscode.Uri;
	/** Workspace storage; undefined if no folder is open. */
	readonly storage: vscode.Uri | undefined;
	readonly store: RunStore;
	readonly log: (message: string) => void;
}

/**
 * The index worker of this window, with the window's runs and an index in the workspace storage. The worker is started
 * and its code loaded on the first request. The worker only reads data, in our own process, so it does not require
 * workspace trust.
 */
export class WindowRolloutIndex extends Disposable {
	readonly #options: WindowRolloutIndexOptions;
	readonly #progress = this.register(new Emitter<IndexNews<'progress'>>());
	readonly #hits = this.register(new Emitter<IndexNews<'hits'>>());
	readonly #ended = this.register(new Emitter<void>());
	readonly #started = this.register(new Emitter<void>());
	#client: Promise<IndexClient> | null = null;
	readonly onProgress = this.#progress.event;
	readonly onHits = this.#hits.event;
	readonly onEnded = this.#ended.event;
	/** Fires on the first request. */
	readonly onStarted = this.#started.event;

	constructor(options: WindowRolloutIndexOptions) {
		super();
		this.#options = options;
	}

	/** Whether any request has been made. */
	get started(): boolean {
		return this.#client !== null;
	}

	/** Disposes of an item, such as a view of the index, along with this object. */
	attach<T extends IDisposable>(item: T): T {
		return this.register(item);
	}

	async request<M extends IndexMethod>(
		method: M,
		params: IndexParams<M>,
		signal?: AbortSignal,
	): Promise<IndexResult<M>> {
		if (this.disposed) throw new Failure('cancelled', 'The window is closing.');
		if (this.#client === null) {
			this.#client = this.#load();
			this.#started.fire();
		}
		return await (await this.#client).request(method, params, signal);
	}

	async #load(): Promise<IndexClient> {
		const { extension, storage, store, log } = this.#options;
		const [{ IndexClient }, { labHome }] = await Promise.all([
			import('./indexClient.ts'),
			import('../../runs/runRegistry.ts'),
		]);
		const client = this.register(
			new IndexClient({
				program: join(extension.fsPath, 'dist', 'rolloutIndex.js'),
				node: () => settings.nodePath(),
				// Windows without a folder share one location; the second such window keeps a separate index.
				storage: storage === undefined ? join(labHome(), 'indexes', 'window') : join(storage.fsPath, 'lab'),
				log,
			}),
		);
		client.onProgress((news) => this.#progress.fire(news));
		client.onHits((news) => this.#hits.fire(news));
		client.onEnded(() => this.#ended.fire());
		const know = () => client.setRuns(store.inUse.map(({ folder }) => folder));
		await store.ready;
		know();
		this.register(store.onDidChange(know));
		return client;
	}
}
