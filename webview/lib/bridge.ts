import * as v from 'valibot';
import { Disposable, type IDisposable, toDisposable } from '../../src/base/disposable.ts';
import { Emitter, type Event } from '../../src/base/event.ts';
import { Failure } from '../../src/base/failure.ts';
import { decode, decodeOrThrow, type Schema } from '../../src/protocol/decode.ts';
import {
	type RequestParams,
	type RequestResult,
	type RequestTable,
	toWebviewSchema,
	type WebviewReplaced,
} from '../../src/protocol/webviewMessages.ts';
import { frames } from './frames.ts';

interface WebviewApi {
	postMessage(message: unknown): void;
	getState(): unknown;
	setState(state: unknown): void;
}

declare function acquireVsCodeApi(): WebviewApi;

interface Pending {
	readonly method: string;
	resolve(result: unknown): void;
	reject(error: Failure): void;
}

/** Panel interface used by a model; implemented by {@link Bridge}. */
export interface Panel<Command, Requests extends RequestTable> {
	post(command: Command): void;
	request<M extends keyof Requests & string>(
		method: M,
		params: RequestParams<Requests, M>,
		signal?: AbortSignal,
	): Promise<RequestResult<Requests, M>>;
}

export interface BridgeOptions<In, State, Requests extends RequestTable> {
	/** Decodes panel events; an invalid event is reported through `onFault` and dropped. */
	readonly events: Schema<In>;
	readonly requests: Requests;
	/** Decodes the saved state; invalid state is dropped. */
	readonly state: Schema<State>;
	readonly onFault: (message: string) => void;
}

/**
 * Webview side of the connection to the panel. Create only one per page, because VS Code provides its API only once.
 */
export class Bridge<In, Out, State, Requests extends RequestTable> extends Disposable {
	readonly #api: WebviewApi;
	readonly #options: BridgeOptions<In, State, Requests>;
	readonly #events = this.register(new Emitter<In>((error) => this.#options.onFault(String(error))));
	readonly #pending = new Map<number, Pending>();
	/**
	 * Starts at a random number, so that late responses to requests made before a page reload do not match new requests.
	 */
	#lastId = Math.floor(Math.random() * 2 ** 40);
	/** Saved state that the panel can restore. */
	#kept: unknown;
	#replaced = false;

	constructor(options: BridgeOptions<In, State, Requests>) {
		super();
		this.#options = options;
		this.#api = acquireVsCodeApi();
		const listener = (message: MessageEvent): void => this.#receive(message.data);
		window.addEventListener('message', listener);
		this.register(toDisposable(() => window.removeEventListener('message', listener)));
		this.register(toDisposable(() => this.#rejectAll()));
	}

	readonly onEvent: Event<In> = (listener): IDisposable => this.#events.event(listener);

	post(event: Out): void {
		this.#api.postMessage({ kind: 'event', event });
	}

	/**
	 * Always settles: with the result, the panel's failure, or `cancelled` if the signal is aborted or the page closes.
	 */
	request<M extends keyof Requests & string>(
		method: M,
		params: RequestParams<Requests, M>,
		signal?: AbortSignal,
	): Promise<RequestResult<Requests, M>> {
		if (signal?.aborted || this.disposed) return Promise.reject(new Failure('cancelled', 'Canceled.'));
		this.#lastId += 1;
		const id = this.#lastId;
		return new Promise((resolve, reject) => {
			const abort = (): void => {
				this.#pending.delete(id);
				reject(new Failure('cancelled', 'Canceled.'));
			};
			signal?.addEventListener('abort', abort, { once: true });
			const settle = (): void => signal?.removeEventListener('abort', abort);
			this.#pending.set(id, {
				method,
				resolve: (result) => {
					settle();
					resolve(result as RequestResult<Requests, M>);
				},
				reject: (error) => {
					settle();
					reject(error);
				},
			});
			this.#api.postMessage({ kind: 'request', id, method, params });
		});
	}

	restoreState(): State | undefined {
		const saved = this.#api.getState();
		if (saved === undefined || saved === null) return undefined;
		const decoded = decode(this.#options.state, saved);
		return decoded.ok ? decoded.value : undefined;
	}

	saveState(state: State): void {
		if (!this.#replaced) this.#api.setState(state);
	}

	#receive(data: unknown): void {
		const envelope = v.safeParse(toWebviewSchema, data);
		// Ignore messages from other scripts in the page's frame, which do not have our envelope.
		if (!envelope.success) return;
		const message = envelope.output;
		if (message.kind === 'shown') {
			frames.shown = message.shown;
			return;
		}
		if (message.kind === 'state') {
			if (message.action === 'keep') {
				this.#kept = this.#api.getState();
				return;
			}
			// Anything the page saves from now on would overwrite the saved state.
			this.#replaced = true;
			this.#api.setState(this.#kept);
			this.#api.postMessage({ kind: 'replaced' } satisfies WebviewReplaced);
			return;
		}
		if (message.kind === 'event') {
			const decoded = decode(this.#options.events, message.event);
			if (decoded.ok) this.#events.fire(decoded.value);
			else this.#options.onFault(`Invalid message from the extension: ${decoded.faults[0]?.message ?? ''}`);
			return;
		}
		const pending = this.#pending.get(message.id);
		if (!pending) return;
		this.#pending.delete(message.id);
		if (!message.ok) {
			pending.reject(new Failure(message.error.reason, message.error.message, message.error.action));
			return;
		}
		try {
			const table = this.#options.requests[pending.method];
			pending.resolve(
				table ? decodeOrThrow(table.result, message.result, `The response to ${pending.method}`) : undefined,
			);
		} catch (error) {
			pending.reject(Failure.from(error));
		}
	}

	#rejectAll(): void {
		const pending = [...this.#pending.values()];
		this.#pending.clear();
		for (const { reject } of pending) reject(new Failure('cancelled', 'The view was closed.'));
	}
}
