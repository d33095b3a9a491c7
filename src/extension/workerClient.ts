import { type ChildProcess, spawn } from 'node:child_process';
import {
	CancellationTokenSource,
	createMessageConnection,
	IPCMessageReader,
	IPCMessageWriter,
	type MessageConnection,
} from 'vscode-jsonrpc/node';
import { Disposable, toDisposable } from '../base/disposable.ts';
import { Emitter } from '../base/event.ts';
import { Failure } from '../base/failure.ts';
import { decode, decodeOrThrow, type Schema } from '../protocol/decode.ts';
import { fromResponseError } from '../rpc/failureCodec.ts';

export interface WorkerClientOptions {
	/** Worker entry point: dist/<name>.js or the source file. */
	readonly program: string;
	readonly args?: readonly string[];
	/** Executable that runs the worker. Default: the current executable in Node mode. */
	readonly node?: (() => string | null) | undefined;
	readonly log: (message: string) => void;
	/** Worker name for messages, such as "index worker". */
	readonly name: string;
	/** Result schemas by method name. */
	readonly results: Readonly<Record<string, Schema<unknown>>>;
	/** Parameter schemas by notification name. */
	readonly notifications: Readonly<Record<string, Schema<unknown>>>;
}

/** Maximum number of crashes within the time window below before automatic restarts stop. */
const maxCrashes = 4;
const maxRestarts = 30;
const withinMs = 600_000;
const graceMs = 3000;

interface Pending {
	reject(failure: Failure): void;
	/** Resends the request to the next worker. */
	again(): void;
	retried: boolean;
}

interface Running {
	readonly child: ChildProcess;
	readonly connection: MessageConnection;
	readonly pending: Set<Pending>;
	/** Whether the worker has asked to be restarted. */
	startsAgain: boolean;
}

/**
 * A worker process owned by this window. Starts on the first request, restarts after a crash, and stops when the window
 * closes. Every request settles with a result, a Failure, or `cancelled` if its signal aborts. A worker that sends
 * `startAgain` is restarted and its pending requests are retried once.
 */
export class WorkerClient extends Disposable {
	readonly #options: WorkerClientOptions;
	readonly #news = this.register(new Emitter<{ readonly name: string; readonly params: unknown }>());
	readonly #started = this.register(new Emitter<void>());
	readonly #ended = this.register(new Emitter<void>());
	#running: Running | null = null;
	#crashes: number[] = [];
	#restarts: number[] = [];
	#words = '';
	/** Fires for each notification from the worker, after decoding. */
	readonly onNews = this.#news.event;
	/** Fires when a new process has started. */
	readonly onStarted = this.#started.event;
	/** Fires when the worker exits. Any state received from it is stale. */
	readonly onEnded = this.#ended.event;

	constructor(options: WorkerClientOptions) {
		super();
		this.#options = options;
		this.register(toDisposable(() => this.#stop()));
	}

	/** Worker process ID, or null if the worker is not running. */
	get pid(): number | null {
		return this.#running?.child.pid ?? null;
	}

	request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
		if (this.disposed) return Promise.reject(new Failure('cancelled', 'The window is closing.'));
		if (signal?.aborted) return Promise.reject(new Failure('cancelled', 'Canceled.'));
		return new Promise((resolve, reject) => {
			const cancel = new CancellationTokenSource();
			let settled = false;
			const settle = () => {
				settled = true;
				signal?.removeEventListener('abort', abort);
				this.#running?.pending.delete(pending);
			};
			const fail = (failure: Failure) => {
				if (settled) return;
				settle();
				reject(failure);
			};
			const abort = () => {
				cancel.cancel();
				fail(new Failure('cancelled', 'Canceled.'));
			};
			const send = () => {
				let running: Running;
				try {
					running = this.#start();
				} catch (error) {
					fail(Failure.from(error));
					return;
				}
				running.pending.add(pending);
				running.connection.sendRequest<unknown>(method, params, cancel.token).then(
					(value) => {
						if (settled) return;
						settle();
						try {
							const schema = this.#options.results[method] as Schema<unknown>;
							resolve(decodeOrThrow(schema, value, `The ${this.#options.name}'s response to ${method}`));
						} catch (error) {
							reject(error);
						}
					},
					(error: unknown) => {
						// If the worker has exited, `#gone` handles the error.
						if (this.#running === running) fail(fromResponseError(error, method));
					},
				);
			};
			const pending: Pending = { reject: fail, again: send, retried: false };
			signal?.addEventListener('abort', abort, { once: true });
			send();
		});
	}

	#start(): Running {
		if (this.#running !== null) return this.#running;
		const now = Date.now();
		this.#crashes = this.#crashes.filter((time) => now - time < withinMs);
		this.#restarts = this.#restarts.filter((time) => now - time < withinMs);
		if (this.#crashes.length >= maxCrashes || this.#restarts.length >= maxRestarts) {
			throw new Failure(
				'unavailable',
				`The ${this.#options.name} has exited ${this.#crashes.length + this.#restarts.length} times${this.#words === '' ? '' : `: ${this.#words}`}.`,
				'Check the log, then reload the window to try again.',
			);
		}
		const { program, args = [], node, log } = this.#options;
		const { NODE_OPTIONS: _, ...environment } = process.env;
		const child = spawn(node?.() ?? process.execPath, [program, ...args], {
			stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
			windowsHide: true,
			env: { ...environment, ...(process.versions.electron === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' }) },
		});
		const silent = { error: () => {}, warn: () => {}, info: () => {}, log: () => {} };
		const connection = createMessageConnection(new IPCMessageReader(child), new IPCMessageWriter(child), silent);
		const running: Running = { child, connection, pending: new Set(), startsAgain: false };
		this.#running = running;
		let words = '';
		child.stderr?.setEncoding('utf8').on('data', (text: string) => {
			words = (words + text).slice(-4000);
		});
		child.once('error', (error) => this.#gone(running, null, error.message));
		// Streams can still deliver output after the process exits, so wait for "close".
		child.once('close', (code, signal) => this.#gone(running, code, signal === null ? lastLine(words) : signal));
		connection.onNotification('startAgain', () => {
			running.startsAgain = true;
		});
		connection.onNotification('log', (params: unknown) => {
			const message = (params as { readonly message?: unknown } | null)?.message;
			if (typeof message === 'string') log(message);
		});
		for (const [name, schema] of Object.entries(this.#options.notifications)) {
			if (name === 'startAgain' || name === 'log') continue;
			connection.onNotification(name, (params: unknown) => {
				const decoded = decode(schema, params);
				if (decoded.ok) this.#news.fire({ name, params: decoded.value });
			});
		}
		connection.onError(() => child.kill());
		connection.listen();
		this.#started.fire();
		return running;
	}

	#gone(running: Running, code: number | null, words: string): void {
		if (this.#running !== running) return;
		this.#running = null;
		running.connection.dispose();
		const { name, log } = this.#options;
		const wanted = running.startsAgain;
		(wanted ? this.#restarts : this.#crashes).push(Date.now());
		this.#words = words;
		if (!this.disposed && !wanted) {
			log(`The ${name} exited${code === null ? '' : ` with status ${code}`}${words === '' ? '' : `: ${words}`}.`);
		}
		if (!this.disposed) this.#ended.fire();
		const failure = new Failure(
			'unavailable',
			`The ${name} exited unexpectedly${words === '' ? '' : `: ${words}`}.`,
			'Try again. The worker restarts automatically.',
		);
		for (const pending of [...running.pending]) {
			// Retry requests that were dropped because the worker asked to be restarted.
			if (wanted && !pending.retried && !this.disposed) {
				pending.retried = true;
				pending.again();
			} else pending.reject(failure);
		}
	}

	#stop(): void {
		const running = this.#running;
		if (running === null) return;
		this.#running = null;
		for (const pending of [...running.pending]) pending.reject(new Failure('cancelled', 'The window is closing.'));
		const { child } = running;
		// The worker exits when its channel closes.
		if (child.connected) child.disconnect();
		running.connection.dispose();
		const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
		child.once('close', () => clearTimeout(timer));
	}
}

function lastLine(text: string): string {
	const lines = text
		.split('\n')
		.map((line) => line.trim())
		.filter((line) => /\w/.test(line) && !/^(at |Node\.js v)/.test(line));
	return (lines.findLast((line) => /Error|Failure/.test(line)) ?? lines.at(-1) ?? '').slice(0, 300).replace(/[.]$/, '');
}
