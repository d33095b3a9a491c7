import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import {
	CancellationTokenSource,
	createMessageConnection,
	ErrorCodes,
	type MessageConnection,
	ResponseError,
	StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import { Failure } from '../base/failure.ts';
import { ProcessTree } from '../processes/processTree.ts';
import { decode, decodeOrThrow, type Schema } from '../protocol/decode.ts';
import { loadFailureSchema, rewardHostMethods, type WhereReply, whereReplySchema } from '../protocol/rewardHost.ts';
import type { ScoreErrorKind } from '../protocol/scorer.ts';
import { messageReader } from '../rpc/messageReader.ts';
import { canceledCode, loadFailedCode, refusedExit } from './hostContract.ts';
import { HostLog } from './hostLog.ts';
import { HostWatch, type WatchLimits } from './hostWatch.ts';
import { LoadFailure } from './loadFailure.ts';

export interface HostCommand {
	readonly program: string;
	readonly arguments: readonly string[];
	readonly environment: NodeJS.ProcessEnv;
	readonly folder: string;
	readonly limits: WatchLimits;
}

/** Reported when the host exits, or has to be killed, while a request is pending. */
export class HostEnd extends Error {
	readonly kind: ScoreErrorKind;
	readonly place: WhereReply;

	constructor(kind: ScoreErrorKind, message: string, place: WhereReply = {}) {
		super(message);
		this.kind = kind;
		this.place = place;
	}
}

/** Time allowed for a host to stop on its own after a cancellation, in milliseconds. */
const cancelGraceMs = 1000;
/** Time allowed for a host to report its current location before it is killed, in milliseconds. */
const whereMs = 250;
/** Time allowed for a host to exit after losing its connection, in milliseconds. */
const lastMs = 1000;

const silent = { error: () => {}, warn: () => {}, info: () => {}, log: () => {} };

/**
 * Starts the program in a new session together with a watcher: a shell that waits for end-of-file on descriptor 5,
 * whose write end is open only in the parent, and then kills the session. As a result, nothing outlives the parent, no
 * matter how it exits or how busy the host is. The host's two output streams are merged, preserving their order.
 */
const underWatch = 'ulimit -c 0; ( (read _ <&5; kill -9 -$$) 3<&- 4>&- >/dev/null 2>&1 & ); exec "$@" 5<&- 2>&1';

/**
 * A host process. It starts empty, receives requests over its own pipes, is monitored, and is killed together with its
 * child processes.
 */
export class HostProcess {
	/** Output printed since the log was last taken. */
	readonly log = new HostLog();
	/** Resolves with the reason when the process ends. Never rejects. */
	readonly ended: Promise<HostEnd>;
	readonly #child: ChildProcess;
	readonly #connection: MessageConnection;
	readonly #tree: ProcessTree | null;
	readonly #watch: HostWatch | null;
	readonly #program: string;
	#end: HostEnd | null = null;
	#why: HostEnd | null = null;
	#resolveEnded!: (end: HostEnd) => void;
	#killed: Promise<void> | null = null;
	#answered = false;
	#closed = false;
	/** Number of requests in progress. */
	#pending = 0;
	/** Whether user code has written to the connection, or closed it. Whatever follows cannot be trusted. */
	#damaged = false;
	/** What the process runs, for use in messages. */
	subject: 'reward' | 'environment' = 'reward';

	constructor(command: HostCommand) {
		this.#program = command.program;
		this.ended = new Promise((resolve) => {
			this.#resolveEnded = resolve;
		});
		const mark = `REASONING_LAB_HOST=${randomBytes(12).toString('hex')}`;
		const windows = process.platform === 'win32';
		const watched = ['-c', underWatch, 'sh', command.program, ...command.arguments];
		this.#child = spawn(windows ? command.program : '/bin/sh', windows ? [...command.arguments] : watched, {
			cwd: command.folder,
			detached: !windows,
			windowsHide: true,
			stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
			env: { ...command.environment, REASONING_LAB_HOST: mark.slice(mark.indexOf('=') + 1) },
		});
		const { pid } = this.#child;
		this.#tree = pid === undefined ? null : new ProcessTree(pid, mark);
		this.#watch =
			this.#tree === null
				? null
				: new HostWatch(this.#tree, command.limits, windows ? 0 : 1, ({ kind, excess }) => {
						void this.kill(new HostEnd(kind, `The ${this.subject} ${excess}`));
					});
		this.#child.once('error', (error) => this.#over(new HostEnd('load', error.message)));
		this.#child.once('exit', (code, signal) => void this.#exited(code, signal));
		for (const stream of this.#child.stdio) stream?.on('error', () => undefined);
		for (const stream of [this.#child.stdout, this.#child.stderr]) {
			stream?.on('data', (chunk: Buffer) => this.log.add(chunk));
		}
		this.#connection = createMessageConnection(
			messageReader(this.#child.stdio[4] as Readable),
			new StreamMessageWriter(this.#child.stdio[3] as Writable),
			silent,
		);
		// A host only writes responses. Anything else comes from user code, so the current episode or row is to blame and
		// the process is abandoned at once.
		(this.#child.stdio[4] as Readable).on('data', () => {
			if (this.#pending === 0) this.#damage();
		});
		this.#connection.onError(() => this.#damage());
		this.#connection.onUnhandledNotification(() => this.#damage());
		this.#connection.onClose(() => {
			this.#closed = true;
			this.#damage();
		});
		this.#connection.listen();
		this.#hold(false);
	}

	get pid(): number | undefined {
		return this.#child.pid;
	}

	/** Sets the resource limits for the process tree, effective immediately. */
	set limits(limits: WatchLimits) {
		if (this.#watch !== null) this.#watch.limits = limits;
	}

	get alive(): boolean {
		return this.#end === null && this.#why === null && !this.#damaged;
	}

	/**
	 * Sends a request. Settles within the time limit plus a grace period: with the result, LoadFailure (caused by the
	 * file), HostEnd (caused by the process), or Failure `cancelled` or `unavailable`. A host that does not respond in
	 * time is killed.
	 */
	async request<T>(
		method: string,
		params: object,
		schema: Schema<T>,
		options: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined; readonly file: string | null },
	): Promise<T> {
		const { signal } = options;
		if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
		if (!this.alive) throw (await this.ended) as HostEnd;
		const cancel = new CancellationTokenSource();
		let grace: NodeJS.Timeout | undefined;
		const abort = () => {
			if (!this.#closed) cancel.cancel();
			grace = setTimeout(() => void this.kill(new HostEnd('exited', 'Canceled.')), cancelGraceMs);
		};
		signal?.addEventListener('abort', abort, { once: true });
		const limit = setTimeout(() => void this.#timeOut(options.timeoutMs), options.timeoutMs);
		this.#hold(true);
		this.#watch?.start();
		this.#pending++;
		try {
			const reply = await Promise.race([
				this.#connection.sendRequest(method, params, cancel.token),
				this.ended.then((end) => {
					throw end;
				}),
			]);
			this.#answered = true;
			const value = decodeOrThrow(schema, reply, `The ${this.subject} host's response to ${method}`);
			await this.#drained();
			if (this.#damaged) throw await this.#broken();
			return value;
		} catch (error) {
			if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
			if (error instanceof ResponseError && !isOfConnection(error)) {
				this.#answered = true;
				await this.#drained();
				throw await this.#failureOf(error, options.file);
			}
			if (error instanceof HostEnd || error instanceof Failure) throw error;
			throw await this.#broken();
		} finally {
			this.#pending--;
			clearTimeout(limit);
			clearTimeout(grace);
			signal?.removeEventListener('abort', abort);
			this.#watch?.stop();
			cancel.dispose();
			this.#hold(false);
		}
	}

	/** Kills the process and all its children. @param why reason reported to pending requests */
	async kill(why: HostEnd): Promise<HostEnd> {
		if (this.#end !== null) return this.#end;
		this.#why ??= why;
		await this.#cleanUp();
		return await this.ended;
	}

	#damage(): void {
		this.#damaged = true;
		void this.#broken();
	}

	/**
	 * Handles a lost connection. Either the process is about to exit, and how it exits is more informative, or it has
	 * closed its end of the connection and can no longer be used.
	 */
	async #broken(): Promise<HostEnd> {
		const end = await Promise.race([this.ended, new Promise<null>((resolve) => setTimeout(resolve, lastMs, null))]);
		return end ?? (await this.kill(new HostEnd('exited', `The connection to the ${this.subject} host was lost`)));
	}

	/** Converts an error from the host. @param file null if there is no file to blame */
	async #failureOf(error: ResponseError<unknown>, file: string | null): Promise<Error> {
		if (error.code === canceledCode) return new Failure('cancelled', 'Canceled.');
		if (error.code === loadFailedCode) {
			const decoded = decode(loadFailureSchema, error.data);
			if (decoded.ok) {
				const { reason, message, action } = decoded.value;
				return file === null ? new Failure(reason, message, action) : new LoadFailure(decoded.value, file);
			}
		}
		// User code can modify built-ins such as Array.prototype, which makes the process unusable.
		return await this.kill(new HostEnd('exited', `The ${this.subject} process stopped working (${error.message})`));
	}

	async #timeOut(timeoutMs: number): Promise<void> {
		const place = await Promise.race([
			this.#where(),
			new Promise<WhereReply>((resolve) => setTimeout(resolve, whereMs, {})),
		]);
		const message = `It exceeded its time limit of ${timeoutMs >= 1000 ? `${timeoutMs / 1000} s` : `${timeoutMs} ms`}`;
		await this.kill(new HostEnd('timeout', message, place));
	}

	/**
	 * Asks the host which user code it is running. Returns nothing if the host cannot answer or is gone. Never rejects.
	 */
	async #where(): Promise<WhereReply> {
		try {
			const reply = decode(whereReplySchema, await this.#connection.sendRequest(rewardHostMethods.where, {}));
			return reply.ok ? reply.value : {};
		} catch {
			return {};
		}
	}

	/**
	 * Waits until the output that precedes a response has been read from the pipe. The read happens in this turn of the
	 * event loop.
	 */
	async #drained(): Promise<void> {
		for (let turn = 0; turn < 20; turn++) {
			const before = this.log.total;
			await new Promise(setImmediate);
			if (this.log.total === before) return;
		}
	}

	async #exited(code: number | null, signal: NodeJS.Signals | null): Promise<void> {
		await this.#drained();
		const end = this.#why ?? this.#explain(code, signal);
		this.#why = end;
		await this.#cleanUp();
		this.#over(end);
	}

	#explain(code: number | null, signal: NodeJS.Signals | null): HostEnd {
		const words = this.log.peek();
		if (!this.#answered && (code === 127 || code === 126)) {
			return new HostEnd('load', `Cannot start the program ${this.#program}`);
		}
		if (code === refusedExit && !this.#answered) return new HostEnd('load', `${this.#program}: ${words.trim()}`);
		// V8 prints one of these messages before aborting.
		if (/JavaScript heap out of memory|Reached heap limit/.test(words)) {
			return new HostEnd('memory', `The ${this.subject} process ran out of heap memory`);
		}
		return new HostEnd(
			'exited',
			signal === null
				? `The ${this.subject} process exited with code ${code}`
				: `The ${this.subject} process was killed by ${signal}${signal === 'SIGKILL' ? '; the machine may have run out of memory' : ''}`,
		);
	}

	#cleanUp(): Promise<void> {
		// A caller may be waiting for the process to end.
		this.#hold(true);
		this.#killed ??= (async () => {
			await this.#tree?.kill();
			this.#child.kill('SIGKILL');
		})();
		return this.#killed;
	}

	#over(end: HostEnd): void {
		if (this.#end !== null) return;
		this.#end = end;
		this.#watch?.stop();
		this.#connection.dispose();
		for (const stream of this.#child.stdio) stream?.destroy();
		this.#resolveEnded(end);
	}

	/** Lets the parent process exit while a host is idle. */
	#hold(busy: boolean): void {
		if (this.#end !== null) return;
		for (const one of [this.#child, ...this.#child.stdio]) {
			const handle = one as { ref?: () => void; unref?: () => void; _handle?: object | null } | null;
			// For a socket without a handle, Node defers the call and adds a listener each time.
			if (!handle?._handle) continue;
			if (busy) handle.ref?.();
			else handle.unref?.();
		}
	}
}

/**
 * Returns whether the JSON-RPC library reports a connection error, using a code in its reserved range. In that case,
 * there was no response.
 */
function isOfConnection({ code }: ResponseError<unknown>): boolean {
	return code >= ErrorCodes.jsonrpcReservedErrorRangeStart && code <= ErrorCodes.jsonrpcReservedErrorRangeEnd;
}
