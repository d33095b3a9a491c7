import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import type { Schema } from '../../protocol/decode.ts';
import {
	type IndexMethod,
	type IndexNews,
	type IndexParams,
	type IndexResult,
	indexNotifications,
	indexRequests,
} from '../../protocol/rolloutIndex.ts';
import { WorkerClient } from '../workerClient.ts';

export interface IndexClientOptions {
	/** Path of dist/rolloutIndex.js or src/rolloutIndex/main.ts. */
	readonly program: string;
	/** Returns the executable that runs the worker; defaults to this process's executable in Node mode. */
	readonly node?: () => string | null;
	/** Index folder; null keeps the index in memory. */
	readonly storage: string | null;
	readonly log: (message: string) => void;
	/** How often the worker checks runs for changes, in milliseconds. */
	readonly lookEveryMs?: number;
}

/** The index worker of this window; see {@link WorkerClient}. The list of runs is resent after every start. */
export class IndexClient extends Disposable {
	readonly #worker: WorkerClient;
	readonly #progress = this.register(new Emitter<IndexNews<'progress'>>());
	readonly #hits = this.register(new Emitter<IndexNews<'hits'>>());
	#runs: readonly string[] | null = null;
	readonly onProgress = this.#progress.event;
	readonly onHits = this.#hits.event;
	/** Fires when the worker exits, which invalidates the progress it reported. */
	readonly onEnded: WorkerClient['onEnded'];

	constructor({ program, node, storage, log, lookEveryMs }: IndexClientOptions) {
		super();
		this.#worker = this.register(
			new WorkerClient({
				program,
				args: [
					...(storage === null ? [] : ['--storage', storage]),
					...(lookEveryMs === undefined ? [] : ['--look-every', String(lookEveryMs)]),
				],
				node,
				log,
				name: 'index worker',
				results: Object.fromEntries(
					Object.entries(indexRequests).map(([method, { result }]) => [method, result as Schema<unknown>]),
				),
				notifications: indexNotifications as unknown as Record<string, Schema<unknown>>,
			}),
		);
		this.onEnded = this.#worker.onEnded;
		this.#worker.onStarted(() => this.#reportRuns());
		this.#worker.onNews(({ name, params }) => {
			if (name === 'progress') this.#progress.fire(params as IndexNews<'progress'>);
			else if (name === 'hits') this.#hits.fire(params as IndexNews<'hits'>);
		});
	}

	/** PID of the worker, if it is running. */
	get pid(): number | null {
		return this.#worker.pid;
	}

	/** Sets the runs for the worker, now and after every start. Does not start the worker. */
	setRuns(runs: readonly string[]): void {
		if (this.#runs !== null && runs.length === this.#runs.length && runs.every((run, i) => run === this.#runs?.[i]))
			return;
		this.#runs = [...runs];
		if (this.#worker.pid !== null) this.#reportRuns();
	}

	request<M extends IndexMethod>(method: M, params: IndexParams<M>, signal?: AbortSignal): Promise<IndexResult<M>> {
		return this.#worker.request(method, params, signal) as Promise<IndexResult<M>>;
	}

	#reportRuns(): void {
		if (this.#runs !== null) void this.request('setRuns', { runs: [...this.#runs] }).catch(() => undefined);
	}
}
