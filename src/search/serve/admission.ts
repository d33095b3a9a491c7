import { ApiError } from './apiError.ts';

/** Lets so many requests run at a time, so many wait for a place, and sends the others away. */
export class Admission {
	readonly #most: number;
	readonly #mostWaiting: number;
	readonly #waiting: { enter(): void; leave(error: unknown): void }[] = [];
	#running = 0;
	#closed = false;

	constructor(most: number, mostWaiting: number) {
		this.#most = most;
		this.#mostWaiting = mostWaiting;
	}

	get running(): number {
		return this.#running;
	}

	get waiting(): number {
		return this.#waiting.length;
	}

	/**
	 * A place; whoever has it gives it back once by the function that it gets. Fails with 429 when too many wait, with 503
	 * when the server ends, and when the signal fires first.
	 */
	async enter(signal: AbortSignal): Promise<() => void> {
		if (this.#closed) throw ending();
		signal.throwIfAborted();
		if (this.#running < this.#most) {
			this.#running++;
			return this.#place();
		}
		if (this.#waiting.length >= this.#mostWaiting) {
			throw new ApiError(
				429,
				'too_many_requests',
				`${this.#running} requests run and ${this.#waiting.length} wait; try again later.`,
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

	/** Nobody enters any more; who waits is sent away. */
	close(): void {
		this.#closed = true;
		for (const { leave } of [...this.#waiting]) leave(ending());
	}

	#place(): () => void {
		let given = false;
		return () => {
			if (given) return;
			given = true;
			const next = this.#waiting.shift();
			if (next === undefined) this.#running--;
			else next.enter();
		};
	}
}

const ending = () => new ApiError(503, 'shutting_down', 'The server is about to end.');
