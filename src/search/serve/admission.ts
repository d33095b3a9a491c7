import { ApiError } from './apiError.ts';

/** Limits the number of running and waiting requests, and rejects all others. */
export class Admission {
	readonly #most: number;
	readonly #maxWaiting: number;
	readonly #waiting: { enter(): void; leave(error: unknown): void }[] = [];
	#running = 0;
	#closed = false;
	/** Exponential moving average of request durations, in seconds; null until the first request has finished. */
	#usual: number | null = null;
	readonly #now: () => number;

	/** @param now monotonic clock in milliseconds */
	constructor(limit: number, maxWaiting: number, now: () => number) {
		this.#now = now;
		this.#most = limit;
		this.#maxWaiting = maxWaiting;
	}

	get running(): number {
		return this.#running;
	}

	get waiting(): number {
		return this.#waiting.length;
	}

	/** Seconds after which a rejected request is likely to be admitted, 1 to 60. */
	get retryAfter(): number {
		if (this.#usual === null) return 5;
		const turns = (this.#waiting.length + 1) / this.#most;
		return Math.min(60, Math.max(1, Math.ceil(turns * this.#usual)));
	}

	/**
	 * Waits for admission; the caller must call the returned function once to release its slot. Fails with 429 if too
	 * many requests are waiting, with 503 if the server is shutting down, and if the signal fires before admission.
	 */
	async enter(signal: AbortSignal): Promise<() => void> {
		if (this.#closed) throw ending();
		signal.throwIfAborted();
		if (this.#running < this.#most) {
			this.#running++;
			return this.#place();
		}
		if (this.#waiting.length >= this.#maxWaiting) {
			throw new ApiError(
				429,
				'too_many_requests',
				`${this.#running} requests are running and ${this.#waiting.length} are waiting; try again later.`,
			);
		}
		return new Promise((resolve, reject) => {
			const leave = (error: unknown) => {
				signal.removeEventListener('abort', aborted);
				const at = this.#waiting.indexOf(waiter);
				if (at >= 0) this.#waiting.splice(at, 1);
				reject(error);
			};
			const aborted = () => leave(signal.reason);
			const waiter = {
				enter: () => {
					signal.removeEventListener('abort', aborted);
					resolve(this.#place());
				},
				leave,
			};
			signal.addEventListener('abort', aborted, { once: true });
			this.#waiting.push(waiter);
		});
	}

	/** Stops admitting requests and rejects waiting ones. */
	close(): void {
		this.#closed = true;
		for (const { leave } of [...this.#waiting]) leave(ending());
	}

	#place(): () => void {
		let given = false;
		const since = this.#now();
		return () => {
			if (given) return;
			given = true;
			const took = (this.#now() - since) / 1000;
			this.#usual = this.#usual === null ? took : 0.8 * this.#usual + 0.2 * took;
			const next = this.#waiting.shift();
			if (next === undefined) this.#running--;
			else next.enter();
		};
	}
}

const ending = () => new ApiError(503, 'shutting_down', 'The server is shutting down.');
