import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type Deferred, deferred } from '../../../base/async.ts';
import type { Frame } from '../../../files/frame.ts';
import type { PartsOrder, PartsReport, PartsRequest } from './partsMessages.ts';

const mostThreads = 4;
/** Idle time before a thread exits. */
const idleMs = 10_000;
const heapMb = 512;

/** Threads that extract parts of records, started on demand. Each reads one file at a time. */
class PartsThreads {
	/** Number of files that can be read at the same time. */
	readonly size = Math.max(1, Math.min(mostThreads, availableParallelism()));
	readonly #idle: PartsThread[] = [];
	readonly #waiting: Deferred<void>[] = [];
	#busy = 0;

	/**
	 * Yields the frames of a file in batches. The thread no longer uses the file once the generator has ended or has been
	 * closed. Fails with an Error if the thread cannot be started, crashes, or cannot read the file.
	 */
	async *read(request: PartsRequest): AsyncGenerator<readonly Frame[]> {
		while (this.#busy >= this.size) {
			const free = deferred<void>();
			this.#waiting.push(free);
			await free.promise;
		}
		this.#busy++;
		let thread: PartsThread | null = null;
		try {
			thread = this.#take();
			yield* thread.read(request);
		} finally {
			if (thread?.alive) this.#rest(thread);
			this.#busy--;
			this.#waiting.shift()?.resolve();
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
		this.#worker.on('error', (error) => this.#fail(error));
		this.#worker.on('exit', () => this.#fail(new Error('the thread exited')));
	}

	get alive(): boolean {
		return this.#failure === null;
	}

	async *read(request: PartsRequest): AsyncGenerator<readonly Frame[]> {
		let ended = false;
		this.#worker.ref();
		try {
			this.#send({ kind: 'read', request });
			for (;;) {
				const report = await this.#next();
				ended = report.kind !== 'frames';
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

	async #next(): Promise<PartsReport> {
		for (;;) {
			const report = this.#reports.shift();
			if (report !== undefined) return report;
			if (this.#failure !== null) throw this.#failure;
			this.#arrived = deferred<void>();
			await this.#arrived.promise;
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
