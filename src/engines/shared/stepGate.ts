import { type Deferred, deferred } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { Hyperparameters } from '../../protocol/control.ts';

/** Callbacks through which requests take effect in training. */
export interface GateHooks {
	/** Called when training has paused. Records the pause. */
	paused(): Promise<void>;
	continued(): Promise<void>;
	/** Writes a checkpoint of the current state and returns its folder. */
	checkpoint(): Promise<string>;
	/** Applies changes starting with the next step, and returns that step. */
	setHyperparameters(changes: Hyperparameters): Promise<number>;
}

type Request =
	| { readonly type: 'checkpoint'; readonly done: Deferred<string> }
	| { readonly type: 'hyperparameters'; readonly changes: Hyperparameters; readonly done: Deferred<number> }
	| { readonly type: 'job'; readonly run: () => Promise<void>; readonly fail: (error: unknown) => void };

/** Time in milliseconds that a stop request waits for running rewards. */
const interruptMs = 3000;

export interface StopRequest {
	readonly checkpoint: boolean;
}

/**
 * Synchronizes external requests with training. Requests are queued and run between generation batches (policy jobs
 * also run between updates), so nothing changes in the middle of a batch. Each request is answered after it takes
 * effect.
 */
export class StepGate {
	readonly #abort = new AbortController();
	readonly #interrupt = new AbortController();
	#interruptTimer: NodeJS.Timeout | null = null;
	#requests: Request[] = [];
	#pausers: Deferred<void>[] = [];
	#resumers: Deferred<void>[] = [];
	#wantsPause = false;
	#isPaused = false;
	#stop: StopRequest | null = null;
	#closed: Failure | null = null;
	#wake: Deferred<void> | null = null;

	/** Aborts when the run is asked to stop, for operations outside training. */
	get stopSignal(): AbortSignal {
		return this.#abort.signal;
	}

	/**
	 * Aborts when a stop request has waited too long for the current batch. All work that can be abandoned must then stop.
	 */
	get interruptSignal(): AbortSignal {
		return this.#interrupt.signal;
	}

	get stopRequest(): StopRequest | null {
		return this.#stop;
	}

	get isPaused(): boolean {
		return this.#isPaused;
	}

	/** Requests a pause. Resolves when training is paused. */
	pause(): Promise<void> {
		if (this.#closed) return Promise.reject(this.#closed);
		if (this.#isPaused && this.#wantsPause) return Promise.resolve();
		this.#wantsPause = true;
		const done = deferred<void>();
		this.#pausers.push(done);
		this.#notify();
		return done.promise;
	}

	/** Requests a pause from within training, right before `betweenBatches`. */
	hold(): void {
		this.#wantsPause = true;
	}

	/** Ends the pause, or cancels it if it has not taken effect yet. Resolves when training continues. */
	async resume(): Promise<void> {
		if (this.#closed) throw this.#closed;
		this.#wantsPause = false;
		for (const waiting of this.#pausers.splice(0)) {
			waiting.reject(new Failure('cancelled', 'The run was continued before it paused.'));
		}
		if (!this.#isPaused) return;
		const done = deferred<void>();
		this.#resumers.push(done);
		this.#notify();
		await done.promise;
	}

	stop(request: StopRequest): void {
		if (this.#stop || this.#closed) return;
		this.#stop = request;
		this.#abort.abort();
		this.#interruptTimer = setTimeout(() => this.#interrupt.abort(), interruptMs);
		this.#interruptTimer.unref();
		this.#notify();
	}

	checkpoint(): Promise<string> {
		const done = deferred<string>();
		return this.#queue({ type: 'checkpoint', done }, done);
	}

	setHyperparameters(changes: Hyperparameters): Promise<number> {
		const done = deferred<number>();
		return this.#queue({ type: 'hyperparameters', changes, done }, done);
	}

	/** Runs a task while training is not using the learner. */
	withLearner<T>(task: () => Promise<T>): Promise<T> {
		const done = deferred<T>();
		const run = async () => {
			try {
				done.resolve(await task());
			} catch (error) {
				done.reject(error);
			}
		};
		return this.#queue({ type: 'job', run, fail: done.reject }, done);
	}

	/** Called between two updates of a batch. Runs policy jobs only. */
	async betweenUpdates(): Promise<void> {
		for (let i = 0; i < this.#requests.length; ) {
			const request = this.#requests[i] as Request;
			if (request.type !== 'job') {
				i++;
				continue;
			}
			this.#requests.splice(i, 1);
			await request.run();
		}
	}

	/** Called between two batches. Handles all requests, and does not return while the run is paused. */
	async betweenBatches(hooks: GateHooks): Promise<'continue' | 'stop'> {
		for (;;) {
			for (let request = this.#requests.shift(); request; request = this.#requests.shift()) {
				await this.#carryOut(request, hooks);
			}
			if (this.#stop || this.#closed) return 'stop';
			if (!this.#wantsPause) {
				if (this.#isPaused) {
					this.#isPaused = false;
					await hooks.continued();
				}
				for (const waiting of this.#resumers.splice(0)) waiting.resolve();
				return 'continue';
			}
			if (!this.#isPaused) {
				this.#isPaused = true;
				await hooks.paused();
				// A client can learn of the pause, and end it, before the hook has finished.
				if (!this.#wantsPause) continue;
			}
			for (const waiting of this.#pausers.splice(0)) waiting.resolve();
			for (const waiting of this.#resumers.splice(0)) {
				waiting.reject(new Failure('cancelled', 'The run was paused again before it continued.'));
			}
			this.#wake = deferred<void>();
			// More requests can arrive while the hooks run.
			if (
				this.#requests.length === 0 &&
				this.#wantsPause &&
				!this.#stop &&
				!this.#closed &&
				this.#pausers.length === 0
			) {
				await this.#wake.promise;
			}
			this.#wake = null;
		}
	}

	/** Called when the run has ended. Rejects all pending requests with the given reason. */
	close(reason: Failure): void {
		if (this.#closed) return;
		this.#closed = reason;
		if (this.#interruptTimer !== null) clearTimeout(this.#interruptTimer);
		for (const waiting of [...this.#pausers.splice(0), ...this.#resumers.splice(0)]) waiting.reject(reason);
		for (const request of this.#requests.splice(0)) {
			if (request.type === 'job') request.fail(reason);
			else request.done.reject(reason);
		}
		this.#notify();
	}

	#queue<T>(request: Request, done: Deferred<T>): Promise<T> {
		if (this.#closed) return Promise.reject(this.#closed);
		this.#requests.push(request);
		this.#notify();
		return done.promise;
	}

	#notify(): void {
		this.#wake?.resolve();
	}

	async #carryOut(request: Request, hooks: GateHooks): Promise<void> {
		if (request.type === 'job') return request.run();
		try {
			if (request.type === 'checkpoint') request.done.resolve(await hooks.checkpoint());
			else request.done.resolve(await hooks.setHyperparameters(request.changes));
		} catch (error) {
			request.done.reject(error);
			// A rejected change matters only to the client. A failed checkpoint write matters to the run as well.
			if (request.type === 'checkpoint') throw error;
		}
	}
}
