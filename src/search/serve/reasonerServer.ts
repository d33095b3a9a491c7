import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { deferred } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { listenFailure } from '../../rpc/http/listenFailure.ts';
import { modelName } from './modelName.ts';
import type { Reasoner } from './reasoner.ts';
import { ReasonerApp } from './reasonerApp.ts';
import {
	defaultReasonerLimits,
	type ReasonerLimits,
	type RequestRecord,
	type SystemMessages,
} from './reasonerAppOptions.ts';

export interface ReasonerServerOptions {
	readonly reasoner: Reasoner;
	/** 0 selects a free port. */
	readonly port: number;
	/** null if no token is required. */
	readonly token: string | null;
	/** Web page origins that are allowed access. */
	readonly origins?: readonly string[];
	/** Model name; default: the policy's name, converted by `modelName`. */
	readonly model?: string;
	readonly systemMessages?: SystemMessages;
	readonly limits?: Partial<ReasonerLimits>;
	readonly onRequest?: (record: RequestRecord) => void;
	readonly onFault?: (error: unknown) => void;
}

/** A server that listens on the loopback address. */
export interface ReasonerServer {
	/** `http://127.0.0.1:PORT/v1`, the base URL for clients. */
	readonly url: string;
	readonly port: number;
	readonly model: string;
	/**
	 * Stops accepting requests and lets running ones continue for the grace period. Then stops their searches, which
	 * answer with the results so far, and closes the server. Calling it again with a shorter time shortens the grace
	 * period.
	 */
	close(graceMs: number): Promise<void>;
}

/** How long stopped searches have to send their answers, in milliseconds. */
const lastWordsMs = 5000;

/** Starts listening. Fails with `busy` if the port is in use, and with `denied` if it is not permitted. */
export async function serveReasoner(options: ReasonerServerOptions): Promise<ReasonerServer> {
	const { reasoner, token, origins = [] } = options;
	const ending = new AbortController();
	let port = options.port;
	const model = options.model ?? modelName(reasoner.name);
	const limits = { ...defaultReasonerLimits, ...options.limits };
	const app = new ReasonerApp({
		reasoner,
		model,
		...(options.systemMessages === undefined ? {} : { systemMessages: options.systemMessages }),
		access: () => ({ port, token, origins }),
		limits,
		ending: ending.signal,
		now: Date.now,
		...(options.onRequest ? { onRequest: options.onRequest } : {}),
		...(options.onFault ? { onFault: options.onFault } : {}),
	});
	const server = createAdaptorServer({
		fetch: app.fetch,
		overrideGlobalObjects: false,
		// Disconnect clients that send their request byte by byte. By default, Node checks for such clients only every 30
		// seconds, so they could exceed the limits by that much.
		serverOptions: {
			headersTimeout: limits.headersMs,
			requestTimeout: limits.requestMs,
			connectionsCheckingInterval: Math.min(1000, limits.headersMs),
			maxHeaderSize: 16_384,
		},
	}) as Server;
	server.maxConnections = limits.running + limits.waiting + 1024;
	await new Promise<void>((resolve, reject) => {
		server.once('error', (error) => reject(listenFailure(error, options.port)));
		server.listen(options.port, '127.0.0.1', resolve);
	});
	port = (server.address() as AddressInfo).port;
	const replies = new Replies();
	server.on('request', (_, response) => replies.add(response));
	let closed: Promise<void> | null = null;
	const grace = new Countdown();
	const close = async () => {
		app.admission.close();
		const left = new Promise<void>((resolve) => server.close(() => resolve()));
		await Promise.race([replies.none(), grace.over]);
		ending.abort(new Failure('cancelled', 'The server is shutting down.'));
		const lastWords = new Countdown(lastWordsMs);
		await Promise.race([replies.none(), lastWords.over]);
		grace.stop();
		lastWords.stop();
		server.closeAllConnections();
		await left;
	};
	return {
		url: `http://127.0.0.1:${port}/v1`,
		port,
		model,
		close(graceMs) {
			grace.start(graceMs);
			closed ??= close();
			return closed;
		},
	};
}

/** Replies that have not been fully sent. */
class Replies {
	readonly #open = new Set<ServerResponse>();
	#none = deferred<void>();

	add(response: ServerResponse): void {
		this.#open.add(response);
		response.once('close', () => {
			this.#open.delete(response);
			if (this.#open.size > 0) return;
			this.#none.resolve();
			this.#none = deferred();
		});
	}

	async none(): Promise<void> {
		while (this.#open.size > 0) await this.#none.promise;
	}
}

/** A timeout that can be shortened or extended while it is running. */
class Countdown {
	readonly #over = deferred<void>();
	#timer: NodeJS.Timeout | undefined;

	constructor(ms?: number) {
		if (ms !== undefined) this.start(ms);
	}

	get over(): Promise<void> {
		return this.#over.promise;
	}

	start(ms: number): void {
		this.stop();
		this.#timer = setTimeout(() => this.#over.resolve(), ms);
	}

	stop(): void {
		clearTimeout(this.#timer);
	}
}
