import type { MessageConnection } from 'vscode-jsonrpc/node';
import { Disposable, toDisposable } from '../base/disposable.ts';
import { Failure } from '../base/failure.ts';
import { decodeOrThrow, type Schema } from '../protocol/decode.ts';
import {
	type SearchMethod,
	type SearchNews,
	type SearchNotification,
	type SearchParams,
	type SearchResult,
	searchRequests,
} from '../protocol/searchWorker.ts';
import { toResponseError } from '../rpc/failureCodec.ts';
import { RunningComparisons } from './compare/runningComparisons.ts';
import { playEpisodes } from './episodes/playEpisodes.ts';
import { researchReportOf } from './researchReportOf.ts';
import { RunningSearches } from './runningSearches.ts';
import { TreeFiles } from './treeFiles.ts';

type Decoded<M extends SearchMethod> = import('valibot').InferOutput<(typeof searchRequests)[M]['params']>;
type Handlers = {
	readonly [M in SearchMethod]: (params: Decoded<M>, signal: AbortSignal) => Promise<SearchResult<M>>;
};

interface Token {
	readonly isCancellationRequested: boolean;
	onCancellationRequested(listener: () => void): { dispose(): void };
}

/** Answers requests from one window. Every request settles, even if it is canceled or the worker exits. */
export class SearchServer extends Disposable {
	readonly #connection: MessageConnection;
	readonly #searches: RunningSearches;
	readonly #comparisons = new RunningComparisons((news) => this.notify('compared', news));
	readonly #files = new TreeFiles();
	readonly #handlers: Handlers;

	constructor(connection: MessageConnection, programs: { readonly engine: string; readonly client: string }) {
		super();
		this.#connection = connection;
		this.#searches = this.register(new RunningSearches(programs, (news) => this.notify('changed', news)));
		this.#handlers = this.#handlersOf();
		connection.onRequest((method, params, token) => this.#answer(method, params, token));
		this.register(toDisposable(() => connection.dispose()));
	}

	notify<N extends SearchNotification>(name: N, params: SearchNews<N>): void {
		void this.#connection.sendNotification(name, params).catch(() => undefined);
	}

	/** Stops all searches, leaving their logs complete. */
	async close(): Promise<void> {
		await this.#comparisons.close();
		await this.#searches.close();
		this.dispose();
	}

	async #answer(method: string, params: unknown, token: Token): Promise<unknown> {
		const cancel = new AbortController();
		const subscription = token.onCancellationRequested(() => cancel.abort());
		if (token.isCancellationRequested) cancel.abort();
		try {
			if (!Object.hasOwn(searchRequests, method)) {
				throw new Failure('unsupported', `The search worker does not support the request ${method}.`);
			}
			const known = method as SearchMethod;
			const schema = searchRequests[known].params as unknown as Schema<unknown>;
			const decoded = decodeOrThrow(schema, params, `The request ${method}`);
			return await this.#handlers[known](decoded as never, cancel.signal);
		} catch (error) {
			throw toResponseError(error);
		} finally {
			subscription.dispose();
		}
	}

	#handlersOf(): Handlers {
		const searches = this.#searches;
		const files = this.#files;
		return {
			start: async (params, signal) => {
				await searches.start(params, signal);
				return {};
			},
			continue: async (params, signal) => {
				await searches.goOn(params, signal);
				return {};
			},
			prune: async ({ log, node, restore }) => {
				await searches.prune(log, node, restore);
				return {};
			},
			stop: async ({ log }) => {
				await searches.stop(log);
				return {};
			},
			compare: async ({ spec, folder, ...own }, signal) => {
				await this.#comparisons.start(spec, folder, searches.context(own), signal);
				return {};
			},
			stopComparing: async ({ folder }) => {
				await this.#comparisons.stop(folder);
				return {};
			},
			playEpisodes: async ({ job, policy, episodes, keys, environment }, signal) => {
				let done = 0;
				const onPlayed = () => this.notify('played', { job, done: ++done });
				return await playEpisodes({ policy, ...episodes, onPlayed }, searches.context({ keys, environment }), signal);
			},
			running: async () => ({ searches: searches.list() }),
			trees: ({ path }) => files.trees(path),
			treeEvents: ({ path, tree, from, limit }) => files.events(path, tree, from, limit),
			treeText: ({ path, tree, node }) => files.text(path, tree, node),
			report: ({ log }) => researchReportOf(log),
			models: ({ policy, keys }, signal) => searches.models(policy, keys, signal),
			probe: ({ policy, keys }, signal) => searches.probe(policy, keys, signal),
		};
	}
}
export type { SearchParams };
