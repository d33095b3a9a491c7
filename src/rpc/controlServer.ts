import { randomBytes } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { type CancellationToken, createMessageConnection, type MessageConnection } from 'vscode-jsonrpc/node';
import { Disposable, toDisposable } from '../base/disposable.ts';
import { Failure } from '../base/failure.ts';
import {
	type ControlMethod,
	type ControlRequest,
	type ControlResult,
	controlMethods,
	controlVersion,
	formerMethods,
	runChanged,
} from '../protocol/control.ts';
import { decode, type Schema } from '../protocol/decode.ts';
import type { ControlLocation } from './controlLocation.ts';
import { toResponseError } from './failureCodec.ts';
import { LastMessageWriter } from './lastMessageWriter.ts';
import { listenOn } from './localSocket.ts';
import { messageReader } from './messageReader.ts';
import { sameSecret } from './sameSecret.ts';

export type ControlHandlers = {
	readonly [M in Exclude<ControlMethod, 'initialize'>]?: (
		params: ControlRequest<M>,
		signal: AbortSignal,
	) => Promise<ControlResult<M>>;
};

export interface ControlServerOptions {
	readonly location: ControlLocation;
	/** Run id, reported to clients. */
	readonly run: string;
	/** Whether the engine was started with `--serve` and answers only `policy/*`. */
	readonly serving: boolean;
	/** Handlers by method. Methods without a handler fail with `unsupported`. */
	readonly handlers: ControlHandlers;
	/** Returns capabilities other than the handled methods. Called separately for each client. */
	extensions?(): readonly string[];
}

/** Time allowed for a connection to send the token before it is closed, in milliseconds. */
const initializeMs = 5000;

/** Pending token removals by disposed servers, by path. */
const removals = new Map<string, Promise<void>>();

/**
 * The engine's control endpoint: JSON-RPC on a local socket, for any number of clients. A client's first message must
 * be `initialize` with the token, or the connection is closed. The caller holds the run's lock, so an existing socket
 * file belongs to an engine that is no longer running.
 */
export class ControlServer extends Disposable {
	readonly #options: ControlServerOptions;
	readonly #token = randomBytes(32).toString('base64url');
	readonly #clients = new Set<MessageConnection>();
	readonly #sockets = new Set<Socket>();
	/** Requests that have not been answered. */
	readonly #open = new Set<Promise<unknown>>();
	readonly #server: Server;

	private constructor(options: ControlServerOptions) {
		super();
		this.#options = options;
		this.#server = createServer((socket) => this.#accept(socket));
	}

	/** Starts listening and writes the token. Fails with `denied` or `full` if that is not possible. */
	static async listen(options: ControlServerOptions): Promise<ControlServer> {
		const server = new ControlServer(options);
		const { socketPath, tokenPath } = options.location;
		// Otherwise, a disposed server could remove this one's token.
		await removals.get(tokenPath);
		try {
			await rm(tokenPath, { force: true });
			const file = await open(tokenPath, 'wx', 0o600);
			await file.writeFile(server.#token);
			await file.close();
			await listenOn(server.#server, socketPath);
		} catch (error) {
			server.dispose();
			throw Failure.from(error, `Cannot listen on ${socketPath}`);
		}
		server.register(
			toDisposable(() => {
				server.#server.close();
				for (const socket of server.#sockets) socket.destroy();
				removals.set(
					tokenPath,
					rm(tokenPath, { force: true }).catch(() => undefined),
				);
			}),
		);
		return server;
	}

	/** Number of clients that have sent the token. */
	get clients(): number {
		return this.#clients.size;
	}

	/** Notifies all clients that the run's files have changed. */
	changed(): void {
		for (const connection of this.#clients) void connection.sendNotification(runChanged).catch(() => undefined);
	}

	/**
	 * Closes the endpoint after all requests have been answered and all notifications have been written.
	 * @param patienceMs milliseconds to wait before closing anyway; open requests then end with their connection
	 */
	async close(patienceMs = 1000): Promise<void> {
		let timer: NodeJS.Timeout | undefined;
		const late = new Promise<void>((resolve) => {
			timer = setTimeout(resolve, patienceMs);
		});
		await Promise.race([this.#settled(), late]);
		clearTimeout(timer);
		this.dispose();
		// The process might exit immediately afterward.
		await removals.get(this.#options.location.tokenPath);
	}

	async #settled(): Promise<void> {
		while (this.#open.size > 0) await Promise.allSettled(this.#open);
		// The connections now hold the responses and write them in order. This waits for the last one.
		await new Promise((resolve) => setImmediate(resolve));
		await Promise.allSettled([...this.#clients].map((connection) => connection.sendNotification(runChanged)));
	}

	#accept(socket: Socket): void {
		this.#sockets.add(socket);
		const writer = new LastMessageWriter(socket);
		const connection = createMessageConnection(messageReader(socket), writer, silent);
		const close = new AbortController();
		const late = setTimeout(() => socket.destroy(), initializeMs);
		socket.on('error', () => socket.destroy());
		socket.on('close', () => {
			clearTimeout(late);
			close.abort();
			this.#sockets.delete(socket);
			this.#clients.delete(connection);
			connection.dispose();
		});
		connection.onError(() => socket.destroy());
		connection.onNotification(() => {
			if (!this.#clients.has(connection)) socket.destroy();
		});
		const answer = async (method: string, params: unknown, token: CancellationToken) => {
			const cancel = new AbortController();
			const subscription = token.onCancellationRequested(() => cancel.abort());
			try {
				if (!this.#clients.has(connection)) {
					const result = this.#initialize(method, params);
					clearTimeout(late);
					this.#clients.add(connection);
					return result;
				}
				return await this.#answer(method, params, AbortSignal.any([cancel.signal, close.signal]));
			} catch (error) {
				if (!this.#clients.has(connection)) writer.endAfterNext();
				return toResponseError(error);
			} finally {
				subscription.dispose();
			}
		};
		connection.onRequest((method, params, token) => {
			const answered = answer(method, params, token);
			this.#open.add(answered);
			void answered.finally(() => this.#open.delete(answered));
			return answered;
		});
		connection.listen();
	}

	#initialize(method: string, params: unknown): ControlResult<'initialize'> {
		if (method !== 'initialize') throw new Failure('denied', 'The first request must be initialize.');
		const { protocol, token } = parameters('initialize', params);
		if (!sameSecret(token, this.#token)) {
			throw new Failure('denied', 'The token does not match this engine.', 'Reconnect to the engine.');
		}
		// A client supports its own version and the previous one, so an older client is incompatible. A newer one decides
		// for itself.
		if (protocol < controlVersion) {
			throw new Failure(
				'version',
				`The engine uses control protocol ${controlVersion}, but the client only supports ${protocol}.`,
				'Update the client.',
			);
		}
		const { run, serving, handlers } = this.#options;
		const former = Object.keys(formerMethods).filter((name) => Object.hasOwn(handlers, formerMethods[name] as string));
		const capabilities = [...Object.keys(handlers), ...former, ...(this.#options.extensions?.() ?? [])];
		return { protocol: controlVersion, run, serving, capabilities };
	}

	async #answer(name: string, params: unknown, signal: AbortSignal): Promise<unknown> {
		const method = Object.hasOwn(formerMethods, name) ? (formerMethods[name] as string) : name;
		if (!Object.hasOwn(controlMethods, method) || method === 'initialize') {
			throw new Failure('unsupported', `The engine does not support the request ${method}.`);
		}
		const known = method as keyof ControlHandlers;
		const handler = this.#options.handlers[known] as ((params: unknown, signal: AbortSignal) => unknown) | undefined;
		if (handler === undefined) {
			throw new Failure(
				'unsupported',
				`This engine does not support ${method}${this.#options.serving ? ' while it serves a checkpoint' : ''}.`,
			);
		}
		return await handler(parameters(known, params), signal);
	}
}

function parameters<M extends ControlMethod>(method: M, params: unknown): ControlRequest<M> {
	const decoded = decode(controlMethods[method].params as unknown as Schema<ControlRequest<M>>, params ?? {});
	if (decoded.ok) return decoded.value;
	const fault = decoded.faults[0];
	throw new Failure(
		'invalid',
		`${method}: ${fault?.path ? `${fault.path}: ` : ''}${fault?.message ?? 'invalid parameters'}.`,
	);
}

/** Discards messages, because errors in a client's messages are reported only to that client. */
const silent = { error: () => {}, warn: () => {}, info: () => {}, log: () => {} };
