import { randomBytes } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import type * as v from 'valibot';
import { createMessageConnection } from 'vscode-jsonrpc/node';
import { deferred } from '../../base/async.ts';
import { Disposable, toDisposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { decode, type Schema } from '../../protocol/decode.ts';
import {
	type TrainerLinkMethod,
	type TrainerLinkNotice,
	trainerLinkMethods,
	trainerLinkNotices,
	trainerLinkVersion,
} from '../../protocol/trainerLink.ts';
import { toResponseError } from '../../rpc/failureCodec.ts';
import { LastMessageWriter } from '../../rpc/lastMessageWriter.ts';
import { listenOn } from '../../rpc/localSocket.ts';
import { messageReader } from '../../rpc/messageReader.ts';
import { sameSecret } from '../../rpc/sameSecret.ts';
import { controlLocation } from '../../runs/runtimeFolder.ts';
import { LengthGuard } from './lengthGuard.ts';

export type LinkParams<M extends TrainerLinkMethod> = v.InferOutput<(typeof trainerLinkMethods)[M]['params']>;
export type LinkResult<M extends TrainerLinkMethod> = v.InferInput<(typeof trainerLinkMethods)[M]['result']>;
export type TrainerHandlers = {
	readonly [M in TrainerLinkMethod]: (params: LinkParams<M>) => Promise<LinkResult<M>>;
};

export type TrainerNotice<N extends TrainerLinkNotice> = v.InferOutput<(typeof trainerLinkNotices)[N]>;
export type TrainerListeners = { readonly [N in TrainerLinkNotice]: (notice: TrainerNotice<N>) => void };

export interface TrainerServerOptions {
	/** Folder that, together with the run ID, determines the socket name. */
	readonly folder: string;
	readonly id: string;
	readonly handlers: TrainerHandlers;
	/** If omitted, notifications are ignored. */
	readonly listeners?: TrainerListeners;
	/** Maximum message size in bytes. JavaScript strings are limited to about 512 MB. */
	readonly largest?: number;
}

/** How long a connection has to authenticate before it is closed, in milliseconds. */
const beginMs = 30_000;
const largestMessage = 500_000_000;

/**
 * Server for a run's single trainer. Uses a local socket in the user's runtime folder, and a token that is only in the
 * trainer's environment. The caller holds the run's lock, so any existing socket belongs to a dead driver.
 */
export class TrainerServer extends Disposable {
	readonly socket: string;
	readonly token = randomBytes(32).toString('base64url');
	readonly #options: TrainerServerOptions;
	readonly #server: Server;
	readonly #sockets = new Set<Socket>();
	readonly #gone = deferred<Failure>();
	readonly #started = deferred<void>();
	/** The trainer's connection, once authenticated. */
	#peer: Socket | null = null;

	private constructor(options: TrainerServerOptions, socket: string) {
		super();
		this.#options = options;
		this.socket = socket;
		this.#server = createServer((connection) => this.#accept(connection));
	}

	static async listen(options: TrainerServerOptions): Promise<TrainerServer> {
		const { socketPath } = await controlLocation(options.folder, `${options.id}/trainer`);
		const server = new TrainerServer(options, socketPath);
		try {
			await listenOn(server.#server, socketPath);
		} catch (error) {
			server.dispose();
			throw Failure.from(error, `Cannot listen on ${socketPath}`);
		}
		server.register(
			toDisposable(() => {
				server.#server.close();
				for (const connection of server.#sockets) connection.destroy();
			}),
		);
		return server;
	}

	/** Resolves with the reason when the trainer's connection is lost or the trainer violates the protocol. */
	get gone(): Promise<Failure> {
		return this.#gone.promise;
	}

	/** Resolves when a trainer has presented the token. */
	get started(): Promise<void> {
		return this.#started.promise;
	}

	#accept(socket: Socket): void {
		this.#sockets.add(socket);
		const guard = new LengthGuard(this.#options.largest ?? largestMessage);
		const writer = new LastMessageWriter(socket);
		const connection = createMessageConnection(messageReader(socket.pipe(guard)), writer, silent);
		const late = setTimeout(() => socket.destroy(), beginMs);
		late.unref();
		const broken = (why: Failure) => {
			if (socket === this.#peer) this.#gone.resolve(why);
			socket.destroy();
		};
		guard.on('error', (error) => broken(contract(Failure.from(error))));
		socket.on('error', () => socket.destroy());
		socket.on('close', () => {
			clearTimeout(late);
			this.#sockets.delete(socket);
			guard.destroy();
			connection.dispose();
			if (socket === this.#peer) this.#gone.resolve(new Failure('unavailable', 'The trainer disconnected.'));
		});
		connection.onError(([error]) => {
			// A killed trainer resets its connection. This is expected, and its process reports the reason.
			if (typeof (error as NodeJS.ErrnoException).code === 'string') socket.destroy();
			else broken(contract(Failure.from(error)));
		});
		connection.onNotification((method, params) => {
			if (socket !== this.#peer) socket.destroy();
			else if (this.#options.listeners !== undefined && Object.hasOwn(trainerLinkNotices, method)) {
				const notice = method as TrainerLinkNotice;
				try {
					this.#options.listeners[notice](checked(trainerLinkNotices[notice], method, params));
				} catch (error) {
					broken(Failure.from(error));
				}
			}
		});
		connection.onRequest(async (method, params) => {
			try {
				if (this.#peer === null) {
					const begin = this.#begin(method, params);
					clearTimeout(late);
					this.#peer = socket;
					this.#started.resolve();
					return await this.#options.handlers.begin(begin);
				}
				if (socket !== this.#peer) throw new Failure('busy', 'The run already has a trainer.');
				if (!Object.hasOwn(trainerLinkMethods, method) || method === 'begin') {
					throw new Failure('unsupported', `The driver does not support the ${method} request.`);
				}
				const known = method as Exclude<TrainerLinkMethod, 'begin'>;
				const handler = this.#options.handlers[known] as (params: unknown) => Promise<unknown>;
				return await handler(decoded(known, params));
			} catch (error) {
				const failure = Failure.from(error);
				if (socket !== this.#peer) writer.endAfterNext();
				else if (!this.disposed) this.#gone.resolve(failure);
				return toResponseError(failure);
			}
		});
		connection.listen();
	}

	#begin(method: string, params: unknown): LinkParams<'begin'> {
		if (method !== 'begin') throw new Failure('denied', 'The first request must be begin.');
		const begin = decoded('begin', params);
		if (!sameSecret(begin.token, this.token)) {
			throw new Failure('denied', 'The token does not belong to this run.');
		}
		return begin;
	}
}

/** Throws `version` if the driver and the trainer are from different releases. */
export function checkTrainerVersion(protocol: number): void {
	if (protocol === trainerLinkVersion) return;
	const older = protocol < trainerLinkVersion;
	throw new Failure(
		'version',
		`The driver uses version ${trainerLinkVersion} of the trainer link, but the trainer uses version ${protocol}.`,
		older
			? 'Update the reasoning-lab-trainer package in its Python environment.'
			: 'Update Reasoning Lab, or install the matching release of reasoning-lab-trainer.',
	);
}

function decoded<M extends TrainerLinkMethod>(method: M, params: unknown): LinkParams<M> {
	return checked(trainerLinkMethods[method].params as never, method, params) as LinkParams<M>;
}

function checked<T>(schema: Schema<T>, method: string, params: unknown): T {
	const result = decode(schema, params ?? {});
	if (result.ok) return result.value;
	const fault = result.faults[0];
	throw contract(
		new Failure(
			'invalid',
			`${method}: ${fault?.path ? `${fault.path}: ` : ''}${fault?.message ?? 'invalid parameters'}.`,
		),
	);
}

/** Protocol violation caused by a bug, or by a program other than the trainer. */
export function contract({ message, action }: Failure): Failure {
	return new Failure('internal', `The trainer violated the protocol. ${message}`, action);
}

/** Suppresses error output, because trainer errors are sent back to the trainer and end its run. */
const silent = { error: () => {}, warn: () => {}, info: () => {}, log: () => {} };
