import { Disposable, type IDisposable, toDisposable } from '../base/disposable.ts';

/** Times in milliseconds. */
export interface Clock {
	now(): number;
	/** Calls a function once, after a pause. Disposing cancels it. */
	after(ms: number, call: () => void): IDisposable;
}

const systemClock: Clock = {
	now: () => performance.now(),
	after(ms, call) {
		const timer = setTimeout(call, ms);
		return { dispose: () => clearTimeout(timer) };
	},
};

/** Runs a task, such as reading a list from disk, whenever it is requested, but only once at a time. */
export class Refresher extends Disposable {
	readonly #task: () => Promise<void>;
	readonly #pauseMs: (tookMs: number) => number | null;
	readonly #clock: Clock;
	#running: Promise<void> | null = null;
	#again = false;
	#timer: IDisposable | null = null;

	/** @param pauseMs time until the task is repeated, given how long it took; null (the default) if it is not */
	constructor(
		task: () => Promise<void>,
		pauseMs: (tookMs: number) => number | null = () => null,
		clock: Clock = systemClock,
	) {
		super();
		this.#task = task;
		this.#pauseMs = pauseMs;
		this.#clock = clock;
		this.register(toDisposable(() => this.#timer?.dispose()));
	}

	/**
	 * Runs the task, or repeats it if it is running. Resolves once a run that started after the call has ended, and
	 * rejects if one fails before.
	 */
	async refresh(): Promise<void> {
		if (this.disposed) return;
		if (this.#running !== null) {
			this.#again = true;
			return this.#running;
		}
		this.#timer?.dispose();
		this.#timer = null;
		this.#running = this.#runs();
		return this.#running;
	}

	/** Runs the task after this time, unless it is run earlier. */
	refreshWithin(ms: number): void {
		if (this.disposed) return;
		this.#timer ??= this.#clock.after(ms, () => {
			this.#timer = null;
			void this.refresh();
		});
	}

	async #runs(): Promise<void> {
		const start = this.#clock.now();
		try {
			do {
				this.#again = false;
				await this.#task();
			} while (this.#again && !this.disposed);
		} finally {
			// In the same turn as the last look at `#again`, so that no request in between is lost.
			this.#running = null;
			const pause = this.#pauseMs(this.#clock.now() - start);
			if (pause !== null) this.refreshWithin(pause);
		}
	}
}
