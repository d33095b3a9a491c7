import { type ChildProcess, spawn } from 'node:child_process';
import {
	CancellationTokenSource,
	createMessageConnection,
	IPCMessageReader,
	IPCMessageWriter,
	type MessageConnection,
} from 'vscode-jsonrpc/node';
import { Disposable, toDisposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { Failure } from '../../base/failure.ts';
import { decode, decodeOrThrow, type Schema } from '../../protocol/decode.ts';
import {
	type LabMethod,
	type LabNews,
	type LabNotification,
	type LabParams,
	type LabResult,
	labNotifications,
	labRequests,
} from '../../protocol/lab.ts';
import { fromResponseError } from '../../rpc/failureCodec.ts';

export interface LabClientOptions {
	/** dist/lab.js, or src/lab/main.ts. */
	readonly program: string;
	/** Program that runs it; default: this one, as Node. */
	readonly node?: () => string | null;
	/** Folder of the index; null: it is kept in memory. */
	readonly storage: string | null;
	readonly log: (message: string) => void;
	/** How often the worker looks at the runs for news, in ms. */
	readonly lookEveryMs?: number;
}

/** Crashes within the time below after which the worker is not started again by itself. */
const mostCrashes = 4;
const mostRestarts = 30;
const withinMs = 600_000;
const graceMs = 3000;

interface Pending {
	reject(failure: Failure): void;
	/** Sends the request again, to the next worker. */
	again(): void;
	retried: boolean;
}

interface Running {
	readonly child: ChildProcess;
	readonly connection: MessageConnection;
	readonly pending: Set<Pending>;
	/** It said that it wants to be started again. */
	startsAgain: boolean;
}

/**
 * The lab worker of this window: started when it is first asked, started again after a crash, ended with the window. Every
 * request settles: with a result, a Failure, or `cancelled` by its signal.
 */
export class LabClient extends Disposable {
	readonly #options: LabClientOptions;
	readonly #progress = this.register(new Emitter<LabNews<'progress'>>());
	readonly #hits = this.register(new Emitter<LabNews<'hits'>>());
	readonly #ended = this.register(new Emitter<void>());
	#running: Running | null = null;
	#runs: readonly string[] | null = null;
	#crashes: number[] = [];
	#restarts: number[] = [];
	#words = '';
	readonly onProgress = this.#progress.event;
	readonly onHits = this.#hits.event;
	/** The worker is gone: what it told of progress holds no longer. */
	readonly onEnded = this.#ended.event;

	constructor(options: LabClientOptions) {
		super();
		this.#options = options;
		this.register(toDisposable(() => this.#stop()));
	}

	/** The worker's process, while there is one. */
	get pid(): number | null {
		return this.#running?.child.pid ?? null;
	}

	/** The runs that the worker shall know, from now on and after every start; it is not started for that. */
	setRuns(runs: readonly string[]): void {
		if (this.#runs !== null && runs.length === this.#runs.length && runs.every((run, i) => run === this.#runs?.[i]))
			return;
		this.#runs = [...runs];
		if (this.#running !== null) void this.request('setRuns', { runs: [...runs] }).catch(() => undefined);
	}

	request<M extends LabMethod>(method: M, params: LabParams<M>, signal?: AbortSignal): Promise<LabResult<M>> {
		if (this.disposed) return Promise.reject(new Failure('cancelled', 'The window closes.'));
		if (signal?.aborted) return Promise.reject(new Failure('cancelled', 'Cancelled.'));
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
				fail(new Failure('cancelled', 'Cancelled.'));
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
							const schema = labRequests[method].result as unknown as Schema<LabResult<M>>;
							resolve(decodeOrThrow(schema, value, `The lab worker's answer to ${method}`));
						} catch (error) {
							reject(error);
						}
					},
					(error: unknown) => {
						// Of a worker that has ended `#gone` decides.
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
		if (this.#crashes.length >= mostCrashes || this.#restarts.length >= mostRestarts) {
			throw new Failure(
				'unavailable',
				`The lab worker has ended ${this.#crashes.length + this.#restarts.length} times${this.#words === '' ? '' : `: ${this.#words}`}.`,
				'Look at the log, and reload the window to try again.',
			);
		}
		const { program, storage, node, lookEveryMs, log } = this.#options;
		const { NODE_OPTIONS: _, ...environment } = process.env;
		const child = spawn(
			node?.() ?? process.execPath,
			[
				program,
				...(storage === null ? [] : ['--storage', storage]),
				...(lookEveryMs === undefined ? [] : ['--look-every', String(lookEveryMs)]),
			],
			{
				stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
				windowsHide: true,
				env: { ...environment, ...(process.versions.electron === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' }) },
			},
		);
		const silent = { error: () => {}, warn: () => {}, info: () => {}, log: () => {} };
		const connection = createMessageConnection(new IPCMessageReader(child), new IPCMessageWriter(child), silent);
		const running: Running = { child, connection, pending: new Set(), startsAgain: false };
		this.#running = running;
		let words = '';
		child.stderr?.setEncoding('utf8').on('data', (text: string) => {
			words = (words + text).slice(-4000);
		});
		child.once('error', (error) => this.#gone(running, null, error.message));
		// Streams may have more to say when the process has ended.
		child.once('close', (code, signal) => this.#gone(running, code, signal === null ? lastLine(words) : signal));
		this.#listen(connection, 'progress', (news) => this.#progress.fire(news));
		this.#listen(connection, 'hits', (news) => this.#hits.fire(news));
		this.#listen(connection, 'startAgain', () => {
			running.startsAgain = true;
		});
		this.#listen(connection, 'log', ({ message }) => log(message));
		connection.onError(() => child.kill());
		connection.listen();
		if (this.#runs !== null) void this.request('setRuns', { runs: [...this.#runs] }).catch(() => undefined);
		return running;
	}

	#listen<N extends LabNotification>(connection: MessageConnection, name: N, take: (news: LabNews<N>) => void): void {
		connection.onNotification(name, (params: unknown) => {
			const decoded = decode(labNotifications[name] as unknown as Schema<LabNews<N>>, params);
			if (decoded.ok) take(decoded.value);
		});
	}

	#gone(running: Running, code: number | null, words: string): void {
		if (this.#running !== running) return;
		this.#running = null;
		running.connection.dispose();
		const wanted = running.startsAgain;
		(wanted ? this.#restarts : this.#crashes).push(Date.now());
		this.#words = words;
		if (!this.disposed && !wanted) {
			this.#options.log(
				`The lab worker ended${code === null ? '' : ` with status ${code}`}${words === '' ? '' : `: ${words}`}.`,
			);
		}
		if (!this.disposed) this.#ended.fire();
		const failure = new Failure(
			'unavailable',
			`The lab worker ended unexpectedly${words === '' ? '' : `: ${words}`}.`,
			'Try again; it starts by itself.',
		);
		for (const pending of [...running.pending]) {
			// What it gave up for another statement's sake is asked once more.
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
		for (const pending of [...running.pending]) pending.reject(new Failure('cancelled', 'The window closes.'));
		const { child } = running;
		// It ends by itself when its channel does.
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
