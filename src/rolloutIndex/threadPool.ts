import { setMaxListeners } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { Disposable, toDisposable } from '../base/disposable.ts';
import { Failure } from '../base/failure.ts';
import { type IndexOrder, type IndexReport, type IndexTask, watchMs, watchPlace } from './indexTasks.ts';

/** Receives reports from a task; the task waits until the promise resolves. */
export interface TaskListener {
	report(report: Extract<IndexReport, { kind: 'batch' | 'hits' }>): Promise<void> | void;
	/** Time limit for matching one rollout, in ms; exceeding it fails the task with {@link SlowMatch}. */
	readonly matchMs?: number;
}

/** Thrown when an expression took too long on one rollout; the thread was terminated. */
export class SlowMatch extends Error {
	/** Location of the rollout, as in `FoundHit.place`. */
	readonly place: number;

	constructor(place: number) {
		super('The expression takes too long to match.');
		this.place = place;
	}
}

type Final = Extract<IndexReport, { kind: 'scanned' | 'searched' }>;

interface Job {
	readonly task: IndexTask;
	readonly listener: TaskListener;
	readonly signal: AbortSignal | undefined;
	resolve(report: Final): void;
	reject(error: unknown): void;
}

const script = import.meta.url.endsWith('.ts') ? './thread.ts' : './indexThread.js';
const watchEveryMs = 100;

/** Threads that process rollouts. Started on demand, one per processor up to a maximum. */
export class ThreadPool extends Disposable {
	readonly size: number;
	readonly #idleMs: number;
	readonly #idle: Thread[] = [];
	readonly #all = new Set<Thread>();
	/** Searches take priority over indexing because a user is waiting for them. */
	readonly #urgent: Job[] = [];
	readonly #waiting: Job[] = [];

	/**
	 * @param idleMs how long a thread can be idle before it exits; its heap stays as large as its largest task required
	 */
	constructor(max = 4, idleMs = 15_000) {
		super();
		this.#idleMs = idleMs;
		this.size = Math.max(1, Math.min(max, availableParallelism()));
		this.register(
			toDisposable(() => {
				const gone = new Failure('cancelled', 'The index worker is shutting down.');
				for (const job of [...this.#urgent.splice(0), ...this.#waiting.splice(0)]) job.reject(gone);
				for (const thread of this.#all) thread.end(gone);
			}),
		);
	}

	/** Number of threads that are running, with or without a task. */
	get count(): number {
		return this.#all.size;
	}

	/** Fails with `cancelled` when the signal fires; if a thread crashes, its task fails with `internal`. */
	run(task: IndexTask, listener: TaskListener, signal?: AbortSignal): Promise<Final> {
		return new Promise((resolve, reject) => {
			if (this.disposed || signal?.aborted) {
				reject(new Failure('cancelled', 'Canceled.'));
				return;
			}
			const urgent = task.kind === 'searchLines' || task.kind === 'searchStep';
			const queue = urgent ? this.#urgent : this.#waiting;
			const job: Job = { task, listener, signal, resolve, reject };
			// Every queued task listens; Node 20 prints a warning if there are more than ten listeners.
			if (signal !== undefined) setMaxListeners(0, signal);
			signal?.addEventListener(
				'abort',
				() => {
					const at = queue.indexOf(job);
					if (at === -1) return;
					queue.splice(at, 1);
					reject(new Failure('cancelled', 'Canceled.'));
				},
				{ once: true },
			);
			queue.push(job);
			this.#next();
		});
	}

	#next(): void {
		while (this.#urgent.length + this.#waiting.length > 0) {
			const thread = this.#free();
			if (thread === null) return;
			const job = (this.#urgent.shift() ?? this.#waiting.shift()) as Job;
			thread.run(job).then(
				() => {
					if (!thread.alive) this.#all.delete(thread);
					else this.#rest(thread);
					if (!this.disposed) this.#next();
				},
				() => undefined,
			);
		}
	}

	#rest(thread: Thread): void {
		this.#idle.push(thread);
		thread.rest(this.#idleMs, () => {
			this.#idle.splice(this.#idle.indexOf(thread), 1);
			this.#all.delete(thread);
		});
	}

	/** Returns a free thread, or null if all are busy. */
	#free(): Thread | null {
		for (let thread = this.#idle.pop(); thread !== undefined; thread = this.#idle.pop()) {
			if (thread.alive) return thread;
			this.#all.delete(thread);
		}
		return this.#all.size < this.size ? this.#start() : null;
	}

	#start(): Thread {
		const thread = new Thread();
		this.#all.add(thread);
		return thread;
	}
}

class Thread {
	readonly #watch = new Float64Array(new SharedArrayBuffer(16));
	readonly #worker = new Worker(new URL(script, import.meta.url), {
		workerData: { watch: this.#watch.buffer },
		// Do not pass this program's flags to the thread.
		execArgv: [],
		// The objects created for a line become garbage right after it, so a small young generation costs no time.
		resourceLimits: { maxOldGenerationSizeMb: 400, maxYoungGenerationSizeMb: 12 },
	});
	#report: ((report: IndexReport) => void) | null = null;
	#failed: ((error: unknown) => void) | null = null;
	#resting: NodeJS.Timeout | undefined;
	alive = true;

	constructor() {
		this.#worker.unref();
		this.#worker.on('message', (report: IndexReport) => this.#report?.(report));
		this.#worker.on('error', (error) => this.#gone(Failure.from(error, 'A thread of the index worker failed')));
		this.#worker.on('exit', () => this.#gone(new Failure('internal', 'A thread of the index worker exited.')));
	}

	/** Resolves when the thread is free again or has exited. */
	run(job: Job): Promise<void> {
		clearTimeout(this.#resting);
		return new Promise((free) => {
			const { listener, signal } = job;
			this.#worker.ref();
			this.#watch.fill(0);
			let canceled: NodeJS.Timeout | undefined;
			const cancel = () => {
				this.#send({ kind: 'cancel' });
				// A thread that is running a backtracking regex does not respond to messages.
				canceled = setTimeout(() => this.end(new Failure('cancelled', 'Canceled.')), 500);
			};
			const watching =
				listener.matchMs === undefined
					? undefined
					: setInterval(() => {
							const since = this.#watch[watchMs] as number;
							if (since > 0 && Date.now() - since > (listener.matchMs as number)) {
								this.end(new SlowMatch(this.#watch[watchPlace] as number));
							}
						}, watchEveryMs);
			const settle = (done: () => void) => {
				clearTimeout(canceled);
				clearInterval(watching);
				signal?.removeEventListener('abort', cancel);
				this.#report = null;
				this.#failed = null;
				if (this.alive) this.#worker.unref();
				done();
				free();
			};
			this.#failed = (error) => settle(() => job.reject(error));
			this.#report = (report) => {
				if (report.kind === 'batch' || report.kind === 'hits') {
					Promise.resolve()
						.then(() => (signal?.aborted ? undefined : listener.report(report)))
						.then(
							() => this.#send({ kind: 'next' }),
							// The listener has failed, so the task is no longer needed.
							(error: unknown) => {
								this.#report = (last) => {
									if (last.kind !== 'batch' && last.kind !== 'hits') settle(() => job.reject(error));
								};
								this.#send({ kind: 'cancel' });
							},
						);
					return;
				}
				if (signal?.aborted) {
					// Reports sent after the cancellation were discarded, so the outcome is meaningless.
					settle(() => job.reject(new Failure('cancelled', 'Canceled.')));
				} else if (report.kind === 'failed') {
					settle(() => job.reject(Failure.of(report.failure)));
				} else settle(() => job.resolve(report));
			};
			signal?.addEventListener('abort', cancel, { once: true });
			this.#send({ kind: 'task', task: job.task });
		});
	}

	/** Ends the thread unless it gets a task within the given time. */
	rest(milliseconds: number, onEnd: () => void): void {
		this.#resting = setTimeout(() => {
			onEnd();
			this.end(new Failure('cancelled', 'The thread had no tasks.'));
		}, milliseconds).unref();
	}

	/** Terminates the thread immediately; its task fails. */
	end(error: unknown): void {
		void this.#worker.terminate();
		this.#gone(error);
	}

	#gone(error: unknown): void {
		clearTimeout(this.#resting);
		this.alive = false;
		this.#failed?.(error);
	}

	#send(order: IndexOrder): void {
		if (this.alive) this.#worker.postMessage(order);
	}
}
