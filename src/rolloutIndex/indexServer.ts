import type { MessageConnection } from 'vscode-jsonrpc/node';
import { Disposable, toDisposable } from '../base/disposable.ts';
import { Failure } from '../base/failure.ts';
import { decodeOrThrow, type Schema } from '../protocol/decode.ts';
import {
	type IndexMethod,
	type IndexNews,
	type IndexNotification,
	type IndexResult,
	indexRequests,
} from '../protocol/rolloutIndex.ts';
import { toResponseError } from '../rpc/failureCodec.ts';
import type { RolloutIndex } from './rolloutIndex.ts';

type Handlers = {
	readonly [M in IndexMethod]: (params: never, signal: AbortSignal) => Promise<IndexResult<M>>;
};

/** Answers requests from one window. Every request settles, even if it is canceled or the index is closed. */
export class IndexServer extends Disposable {
	readonly #connection: MessageConnection;
	readonly #handlers: Handlers;
	#underWay = 0;

	constructor(connection: MessageConnection, rolloutIndex: Promise<RolloutIndex>) {
		super();
		this.#connection = connection;
		this.#handlers = handlersOf(rolloutIndex, (params) => this.notify('hits', params));
		connection.onRequest((method, params, token) => this.#answer(method, params, token));
		rolloutIndex.then(
			(opened) => {
				if (!this.disposed) this.register(opened.onProgress((progress) => this.notify('progress', progress)));
			},
			() => undefined,
		);
		this.register(toDisposable(() => connection.dispose()));
	}

	/** Number of requests that have not settled. */
	get underWay(): number {
		return this.#underWay;
	}

	notify<N extends IndexNotification>(name: N, params: IndexNews<N>): void {
		void this.#connection.sendNotification(name, params).catch(() => undefined);
	}

	async #answer(
		method: string,
		params: unknown,
		token: {
			readonly isCancellationRequested: boolean;
			onCancellationRequested(listener: () => void): { dispose(): void };
		},
	): Promise<unknown> {
		const cancel = new AbortController();
		const subscription = token.onCancellationRequested(() => cancel.abort());
		if (token.isCancellationRequested) cancel.abort();
		this.#underWay++;
		try {
			if (!Object.hasOwn(indexRequests, method)) {
				throw new Failure('unsupported', `The index worker does not support the request ${method}.`);
			}
			const known = method as IndexMethod;
			const decoded = decodeOrThrow(indexRequests[known].params as Schema<unknown>, params, `The request ${method}`);
			return await this.#handlers[known](decoded as never, cancel.signal);
		} catch (error) {
			throw toResponseError(error);
		} finally {
			this.#underWay--;
			subscription.dispose();
		}
	}
}

function handlersOf(rolloutIndex: Promise<RolloutIndex>, notifyHits: (news: IndexNews<'hits'>) => void): Handlers {
	return {
		setRuns: async ({ runs }: { runs: string[] }) => {
			await (await rolloutIndex).setRuns(runs);
			return {};
		},
		status: async () => (await rolloutIndex).status(),
		index: async ({ run }: { run: string }, signal) => (await rolloutIndex).index(run, signal),
		sql: async (params: Parameters<RolloutIndex['sql']>[0], signal) => (await rolloutIndex).sql(params, signal),
		rollouts: async (params: Parameters<RolloutIndex['rollouts']>[0], signal) =>
			(await rolloutIndex).rollouts(params, signal),
		count: async (params: Parameters<RolloutIndex['count']>[0], signal) => (await rolloutIndex).count(params, signal),
		histogram: async (params: Parameters<RolloutIndex['histogram']>[0], signal) =>
			(await rolloutIndex).histogram(params, signal),
		overTraining: async (params: Parameters<RolloutIndex['overTraining']>[0], signal) =>
			(await rolloutIndex).overTraining(params, signal),
		places: async (params: Parameters<RolloutIndex['places']>[0]) => (await rolloutIndex).places(params),
		search: async (params: Parameters<RolloutIndex['search']>[0], signal) =>
			(await rolloutIndex).search(params, notifyHits, signal),
		pause: async ({ paused }: { paused: boolean }) => {
			(await rolloutIndex).pause(paused);
			return {};
		},
		rebuild: async () => {
			await (await rolloutIndex).rebuild();
			return {};
		},
		export: async (params: Parameters<RolloutIndex['export']>[0], signal) =>
			(await rolloutIndex).export(params, signal),
	};
}
