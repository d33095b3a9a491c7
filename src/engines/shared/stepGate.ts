import { type Deferred, deferred } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { Hyperparameters } from '../../protocol/control.ts';

/** Callbacks of training when a request is carried out. */
export interface GateHooks {
	/** Training is paused; records it. */
	paused(): Promise<void>;
	continued(): Promise<void>;
	/** Writes a checkpoint of this moment; returns its folder. */
	checkpoint(): Promise<string>;
	/** Applies the changes from the next step on; returns that step. */
	setHyperparameters(changes: Hyperparameters): Promise<number>;
}

type Request =
	| { readonly type: 'checkpoint'; readonly done: Deferred<string> }
	| { readonly type: 'hyperparameters'; readonly changes: Hyperparameters; readonly done: Deferred<number> }
	| { readonly type: 'job'; readonly run: () => Promise<void>; readonly fail: (error: unknown) => void };

/** Milliseconds that a stop waits for running rewards. */
const interruptMs = 3000;

export interface StopRequest {
	readonly checkpoint: boolean;
}

/**
 * Synchronizes external requests with training: they are queued and carried out between generation batches (policy jobs
 * also between updates), so that nothing changes in the middle of a batch. A request is answered once it has taken
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

	/** Fires when the run is asked to stop, for operations outside of training. */
	get stopSignal(): AbortSignal {
		return this.#abort.signal;
	}

	/** Fires when a stop has waited too long for the batch: everything that can be given up is. */
	get interruptSignal(): AbortSignal {
		return this.#interrupt.signal;
	}

	get stopRequest(): StopRequest | null {
		return this.#stop;
	}

	get isPaused(): boolean {
		return this.#isPaused;
	}

	/** Resolves once training is paused. */
	pause(): Promise<void> {
		if (this.#closed) return Promise.reject(this.#closed);
		if (this.#isPaused && this.#wantsPause) return Promise.resolve();
		this.#wantsPause = true;
		const done = deferred<void>();
		this.#pausers.push(done);
		this.#notify();
		return done.promise;
	}

	/** Pauses at the request of training itself, right before `betweenBatches`. */
	hold(): void {
		this.#wantsPause = true;
	}

	/** Cancels the pause, even one that has not taken effect. Resolves once training continues. */
	async resume(): Promise<void> {
		if (this.#closed) throw this.#closed;
		this.#wantsPause = false;
		for (const waiting of this.#pausers.splice(0)) {
			waiting.reject(new Failure('cancelled', 'The run was continued before it had paused.'));
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

	/** Runs a task while training does not use the learner. */
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

	/** Between two updates of a batch: only policy jobs run. */
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

	/** Between two batches: carries out all requests, and waits here while the run is paused. */
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
			}
			for (const waiting of this.#pausers.splice(0)) waiting.resolve();
			for (const waiting of this.#resumers.splice(0)) {
				waiting.reject(new Failure('cancelled', 'The run was paused again before it continued.'));
			}
			this.#wake = deferred<void>();
			// Requests may have arrived while the hooks ran.
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

	/** The run has ended: rejects all pending requests with the reason. */
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
			// A rejected change only concerns the client; a checkpoint that cannot be written also concerns the run.
			if (request.type === 'checkpoint') throw error;
		}
	}
}
