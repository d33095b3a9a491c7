import { createConnection, type Socket } from 'node:net';
import {
	CancellationTokenSource,
	createMessageConnection,
	type MessageConnection,
	SocketMessageWriter,
} from 'vscode-jsonrpc/node';
import { Disposable, toDisposable } from '../base/disposable.ts';
import { Emitter } from '../base/event.ts';
import { Failure } from '../base/failure.ts';
import {
	type ControlMethod,
	type ControlParams,
	type ControlResult,
	controlMethods,
	controlVersion,
	formerMethods,
	runChanged,
} from '../protocol/control.ts';
import { decodeOrThrow, type Schema } from '../protocol/decode.ts';
import { fromResponseError } from './failureCodec.ts';
import { HandledMessages } from './handledMessages.ts';
import { messageReader } from './messageReader.ts';

/**
 * Request timeouts in milliseconds. Requests that wait for the end of a step or for a checkpoint have longer timeouts.
 */
const patience: Record<ControlMethod, number> = {
	initialize: 10_000,
	'run/status': 10_000,
	'run/pause': 600_000,
	'run/continue': 60_000,
	'run/stop': 600_000,
	'pipeline/stop': 600_000,
	'run/checkpoint': 600_000,
	'run/setHyperparameters': 60_000,
	'policy/generate': 600_000,
	'policy/score': 600_000,
	'policy/value': 600_000,
};

const silent = { error: () => {}, warn: () => {}, info: () => {}, log: () => {} };

/** A connection to an engine. Every request settles with a result, a Failure, or `cancelled` through its signal. */
export class ControlClient extends Disposable {
	readonly #connection: MessageConnection;
	readonly #pending = new Set<(failure: Failure) => void>();
	readonly #changed = this.register(new Emitter<void>());
	readonly #closed = this.register(new Emitter<void>());
	/** Whether the connection is lost. No more requests can be sent, but messages already received are still handled. */
	#lost = false;
	#gone = false;
	#engine: ControlResult<'initialize'> | null = null;
	/** Fires when the run's files have changed. */
	readonly onChanged = this.#changed.event;
	/** Fires once when the connection has ended, including after `dispose`. */
	readonly onClosed = this.#closed.event;

	private constructor(socket: Socket) {
		super();
		const handled = new HandledMessages();
		this.#connection = createMessageConnection(messageReader(socket), new SocketMessageWriter(socket), silent, handled);
		this.#connection.onNotification(runChanged, () => this.#changed.fire());
		this.#connection.onError(() => socket.destroy());
		const ended = () =>
			this.#end(
				new Failure(
					'unavailable',
					'The connection to the engine was lost.',
					'The engine may have exited; see engine.log in the run folder.',
				),
			);
		socket.on('close', () => {
			this.#lost = true;
			// A response may have arrived just before the connection was lost.
			void handled.drained().then(ended);
		});
		this.register(
			toDisposable(() => {
				this.#end(new Failure('cancelled', 'The connection to the engine was closed.'));
				this.#connection.dispose();
				socket.destroy();
			}),
		);
		this.#connection.listen();
	}

	/**
	 * Connects and sends the token. Fails with `unavailable` if nothing is listening, with `denied`, or with `version` if
	 * the client and the engine are incompatible.
	 * @param name program name for the engine's log
	 */
	static async connect(socketPath: string, token: string, name: string): Promise<ControlClient> {
		const socket = await dial(socketPath);
		const client = new ControlClient(socket);
		try {
			const engine = await client.request('initialize', { protocol: controlVersion, token, client: name });
			if (engine.protocol > controlVersion || engine.protocol < controlVersion - 1) {
				throw new Failure(
					'version',
					`The engine uses control protocol ${engine.protocol}, but this program uses ${controlVersion}.`,
					engine.protocol > controlVersion
						? 'Update this program.'
						: 'Stop the run with the version that started it, then resume it.',
				);
			}
			client.#engine = engine;
			return client;
		} catch (error) {
			client.dispose();
			throw error;
		}
	}

	/** The engine's description of itself. */
	get engine(): ControlResult<'initialize'> {
		if (this.#engine === null) throw new Failure('unavailable', 'The connection is not initialized.');
		return this.#engine;
	}

	/** Whether the connection has ended, so requests are no longer answered. */
	get closed(): boolean {
		return this.#lost || this.#gone;
	}

	request<M extends ControlMethod>(
		method: M,
		params: ControlParams<M>,
		signal?: AbortSignal,
	): Promise<ControlResult<M>> {
		if (this.#lost || this.#gone)
			return Promise.reject(new Failure('unavailable', 'The connection to the engine was lost.'));
		if (signal?.aborted) return Promise.reject(new Failure('cancelled', 'Canceled.'));
		const cancel = new CancellationTokenSource();
		return new Promise((resolve, reject) => {
			const settle = () => {
				clearTimeout(timer);
				this.#pending.delete(fail);
				signal?.removeEventListener('abort', abort);
			};
			const fail = (failure: Failure) => {
				settle();
				reject(failure);
			};
			const abort = () => {
				cancel.cancel();
				fail(new Failure('cancelled', 'Canceled.'));
			};
			const timer = setTimeout(() => {
				cancel.cancel();
				fail(new Failure('timeout', `The engine did not respond to ${method} within ${patience[method] / 1000} s.`));
			}, patience[method]);
			this.#pending.add(fail);
			signal?.addEventListener('abort', abort, { once: true });
			// If the engine has just closed the connection, sendRequest throws instead of rejecting.
			const answer = async () => this.#connection.sendRequest(this.#nameOf(method), params, cancel.token);
			answer().then(
				(value) => {
					settle();
					try {
						const schema = controlMethods[method].result as unknown as Schema<ControlResult<M>>;
						resolve(decodeOrThrow(schema, value, `The engine's response to ${method}`));
					} catch (error) {
						reject(error);
					}
				},
				(error: unknown) => fail(fromResponseError(error, method)),
			);
		});
	}

	/** Returns the name that this engine uses for a method. An older engine might only know the old name. */
	#nameOf(method: ControlMethod): string {
		const known = this.#engine?.capabilities ?? [];
		if (known.includes(method)) return method;
		return known.find((name) => Object.hasOwn(formerMethods, name) && formerMethods[name] === method) ?? method;
	}

	#end(failure: Failure): void {
		if (this.#gone) return;
		this.#gone = true;
		for (const fail of [...this.#pending]) fail(failure);
		this.#closed.fire();
	}
}

function dial(path: string): Promise<Socket> {
	return new Promise((resolve, reject) => {
		const socket = createConnection(path);
		const fail = (error: Error) => {
			socket.destroy();
			reject(
				new Failure('unavailable', `No engine is listening at ${path}: ${error.message}.`, 'Resume the run.', {
					cause: error,
				}),
			);
		};
		socket.setTimeout(5000, () => fail(new Error('timed out')));
		socket.once('error', fail);
		socket.once('connect', () => {
			socket.setTimeout(0);
			socket.off('error', fail);
			socket.on('error', () => socket.destroy());
			resolve(socket);
		});
	});
}
