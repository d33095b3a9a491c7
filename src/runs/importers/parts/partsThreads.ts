import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type AbortSignalLike, checkAborted, type Deferred, deferred } from '../../../base/async.ts';
import type { Frame } from '../../../files/frame.ts';
import type { PartsOrder, PartsReport, PartsRequest } from './partsMessages.ts';

const mostThreads = 4;
/** Idle time before a thread exits. */
const idleMs = 10_000;
const heapMb = 512;
/** Interval between checks whether a reader that waits for a thread was canceled. */
const checkMs = 100;

/** Threads that extract parts of records, started on demand. Each reads one file at a time. */
class PartsThreads {
	/** Number of files that can be read at the same time. */
	readonly size = Math.max(1, Math.min(mostThreads, availableParallelism()));
	readonly #idle: PartsThread[] = [];
	#busy = 0;

	/**
	 * Returns a generator of the frames of a file in batches, which must be started at once, or null if all threads are
	 * busy. The thread no longer uses the file once the generator has ended or has been closed. It fails with
	 * `cancelled`, or with an Error if the thread cannot be started, crashes, or cannot read the file.
	 */
	read(request: PartsRequest, signal: AbortSignalLike | undefined): AsyncGenerator<readonly Frame[]> | null {
		if (this.#busy >= this.size) return null;
		this.#busy++;
		return this.#reading(request, signal);
	}

	async *#reading(request: PartsRequest, signal: AbortSignalLike | undefined): AsyncGenerator<readonly Frame[]> {
		let thread: PartsThread | null = null;
		try {
			thread = this.#take();
			yield* thread.read(request, signal);
		} finally {
			if (thread?.alive) this.#rest(thread);
			this.#busy--;
		}
	}

	#take(): PartsThread {
		for (let thread = this.#idle.pop(); thread !== undefined; thread = this.#idle.pop()) {
			thread.wake();
			if (thread.alive) return thread;
		}
		return new PartsThread();
	}

	#rest(thread: PartsThread): void {
		this.#idle.push(thread);
		thread.rest(() => this.#idle.splice(this.#idle.indexOf(thread), 1));
	}
}

class PartsThread {
	readonly #worker: Worker;
	readonly #reports: PartsReport[] = [];
	#arrived: Deferred<void> | null = null;
	#resting: NodeJS.Timeout | undefined;
	#failure: Error | null = null;

	constructor() {
		const script = import.meta.url.endsWith('.ts') ? './partsWorker.ts' : './partsWorker.js';
		this.#worker = new Worker(new URL(script, import.meta.url), {
			name: 'parts of records',
			resourceLimits: { maxOldGenerationSizeMb: heapMb },
			// The thread's output is discarded.
			stdout: true,
			stderr: true,
		});
		this.#worker.unref();
		this.#worker.on('message', (report: PartsReport) => {
			this.#reports.push(report);
			this.#arrived?.resolve();
		});
		this.#worker.on('messageerror', (error) => this.#fail(error));
		this.#worker.on('error', (error) => this.#fail(error));
		this.#worker.on('exit', () => this.#fail(new Error('the thread exited')));
	}

	get alive(): boolean {
		return this.#failure === null;
	}

	async *read(request: PartsRequest, signal: AbortSignalLike | undefined): AsyncGenerator<readonly Frame[]> {
		let ended = false;
		this.#worker.ref();
		try {
			this.#send({ kind: 'read', request });
			for (;;) {
				const report = await this.#next(signal);
				// After a failure, reads that were started ahead of time can still be in progress.
				ended = report.kind === 'end';
				if (report.kind === 'end') return;
				if (report.kind === 'failed') throw new Error(report.message);
				this.#send({ kind: 'next' });
				yield report.frames;
			}
		} finally {
			// The caller closes the file, so the thread must not continue to read it.
			if (ended) this.#worker.unref();
			else await this.#end();
		}
	}

	/** Ends the thread unless it is woken within the idle time. */
	rest(onEnd: () => void): void {
		this.#resting = setTimeout(() => {
			onEnd();
			void this.#end();
		}, idleMs).unref();
	}

	wake(): void {
		clearTimeout(this.#resting);
	}

	async #next(signal: AbortSignalLike | undefined): Promise<PartsReport> {
		for (;;) {
			checkAborted(signal);
			const report = this.#reports.shift();
			if (report !== undefined) return report;
			if (this.#failure !== null) throw this.#failure;
			this.#arrived = deferred<void>();
			const check = setTimeout(this.#arrived.resolve, checkMs);
			await this.#arrived.promise;
			clearTimeout(check);
		}
	}

	async #end(): Promise<void> {
		this.#fail(new Error('the thread was ended'));
		await this.#worker.terminate();
	}

	#fail(error: Error): void {
		this.#failure ??= error;
		this.#arrived?.resolve();
	}

	#send(order: PartsOrder): void {
		this.#worker.postMessage(order);
	}
}

/** The threads of this process. */
export const partsThreads = new PartsThreads();
