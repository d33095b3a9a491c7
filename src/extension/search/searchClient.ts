import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import type { Schema } from '../../protocol/decode.ts';
import {
	type SearchMethod,
	type SearchNews,
	type SearchParams,
	type SearchResult,
	searchNotifications,
	searchRequests,
} from '../../protocol/searchWorker.ts';
import { WorkerClient, type WorkerClientOptions } from '../workerClient.ts';

export type SearchClientOptions = Pick<WorkerClientOptions, 'program' | 'args' | 'node' | 'log'>;

/** Search worker client for this window; see {@link WorkerClient}. */
export class SearchClient extends Disposable {
	readonly #worker: WorkerClient;
	readonly #changed = this.register(new Emitter<SearchNews<'changed'>>());
	/** Fires when a search starts, continues or ends. */
	readonly onChanged = this.#changed.event;
	readonly #compared = this.register(new Emitter<SearchNews<'compared'>>());
	/** Fires when a strategy comparison starts, continues or ends. */
	readonly onCompared = this.#compared.event;
	readonly #played = this.register(new Emitter<SearchNews<'played'>>());
	/** Fires when an episode of a `playEpisodes` request has ended. */
	readonly onPlayed = this.#played.event;
	/** Fires when the worker exits, which ends all searches. */
	readonly onEnded: WorkerClient['onEnded'];

	constructor(options: SearchClientOptions) {
		super();
		this.#worker = this.register(
			new WorkerClient({
				...options,
				name: 'search worker',
				results: Object.fromEntries(
					Object.entries(searchRequests).map(([method, { result }]) => [method, result as Schema<unknown>]),
				),
				notifications: searchNotifications as unknown as Record<string, Schema<unknown>>,
			}),
		);
		this.onEnded = this.#worker.onEnded;
		this.#worker.onNews(({ name, params }) => {
			if (name === 'changed') this.#changed.fire(params as SearchNews<'changed'>);
			else if (name === 'played') this.#played.fire(params as SearchNews<'played'>);
			else if (name === 'compared') this.#compared.fire(params as SearchNews<'compared'>);
		});
	}

	get pid(): number | null {
		return this.#worker.pid;
	}

	request<M extends SearchMethod>(method: M, params: SearchParams<M>, signal?: AbortSignal): Promise<SearchResult<M>> {
		return this.#worker.request(method, params, signal) as Promise<SearchResult<M>>;
	}
}
