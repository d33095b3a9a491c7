import type { MessageConnection } from 'vscode-jsonrpc/node';
import { Disposable, toDisposable } from '../base/disposable.ts';
import { Failure } from '../base/failure.ts';
import { decodeOrThrow, type Schema } from '../protocol/decode.ts';
import { type LabMethod, type LabNews, type LabNotification, type LabResult, labRequests } from '../protocol/lab.ts';
import { toResponseError } from '../rpc/failureCodec.ts';
import type { Lab } from './lab.ts';

type Handlers = {
	readonly [M in LabMethod]: (params: never, signal: AbortSignal) => Promise<LabResult<M>>;
};

/** Answers the requests of one window. Each settles, also when it is cancelled or the lab ends. */
export class LabServer extends Disposable {
	readonly #connection: MessageConnection;
	readonly #handlers: Handlers;
	#underWay = 0;

	constructor(connection: MessageConnection, lab: Promise<Lab>) {
		super();
		this.#connection = connection;
		this.#handlers = handlersOf(lab, (params) => this.notify('hits', params));
		connection.onRequest((method, params, token) => this.#answer(method, params, token));
		lab.then(
			(opened) => {
				if (!this.disposed) this.register(opened.onProgress((progress) => this.notify('progress', progress)));
			},
			() => undefined,
		);
		this.register(toDisposable(() => connection.dispose()));
	}

	/** Requests that have not settled. */
	get underWay(): number {
		return this.#underWay;
	}

	notify<N extends LabNotification>(name: N, params: LabNews<N>): void {
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
			if (!Object.hasOwn(labRequests, method)) {
				throw new Failure('unsupported', `The lab worker does not know the request ${method}.`);
			}
			const known = method as LabMethod;
			const decoded = decodeOrThrow(labRequests[known].params as Schema<unknown>, params, `The request ${method}`);
			return await this.#handlers[known](decoded as never, cancel.signal);
		} catch (error) {
			throw toResponseError(error);
		} finally {
			this.#underWay--;
			subscription.dispose();
		}
	}
}

function handlersOf(lab: Promise<Lab>, tellHits: (news: LabNews<'hits'>) => void): Handlers {
	return {
		setRuns: async ({ runs }: { runs: string[] }) => {
			await (await lab).setRuns(runs);
			return {};
		},
		status: async () => (await lab).status(),
		index: async ({ run }: { run: string }, signal) => (await lab).index(run, signal),
		sql: async (params: Parameters<Lab['sql']>[0], signal) => (await lab).sql(params, signal),
		rollouts: async (params: Parameters<Lab['rollouts']>[0], signal) => (await lab).rollouts(params, signal),
		count: async (params: Parameters<Lab['count']>[0], signal) => (await lab).count(params, signal),
		histogram: async (params: Parameters<Lab['histogram']>[0], signal) => (await lab).histogram(params, signal),
		overTraining: async (params: Parameters<Lab['overTraining']>[0], signal) =>
			(await lab).overTraining(params, signal),
		places: async (params: Parameters<Lab['places']>[0]) => (await lab).places(params),
		search: async (params: Parameters<Lab['search']>[0], signal) => (await lab).search(params, tellHits, signal),
		pause: async ({ paused }: { paused: boolean }) => {
			(await lab).pause(paused);
			return {};
		},
		rebuild: async () => {
			await (await lab).rebuild();
			return {};
		},
		export: async (params: Parameters<Lab['export']>[0], signal) => (await lab).export(params, signal),
	};
}
