import { Failure } from '../../base/failure.ts';
import { pause } from '../pause.ts';

export interface QueueOptions {
	/** Maximum number of concurrent requests. Others wait in order. */
	readonly concurrency: number;
	/** Maximum number of retries after a transient failure. */
	readonly retries: number;
	/** Delay before the first retry, in milliseconds. Doubles with each retry. Default 500. */
	readonly firstWaitMs?: number;
	/** Maximum number of requests started in any one minute, including retries. Default: unlimited. */
	readonly requestsPerMinute?: number;
}

/** Result of an attempt: a value, or a failure that may be transient. */
export type Tried<T> =
	| { readonly result: T }
	| {
			readonly failure: Failure;
			readonly passing: boolean;
			/** How long the server asked to wait, in milliseconds. Applies to all requests. */
			readonly waitMs?: number;
			/** Whether the failure was caused by too many requests rather than by this request. */
			readonly busy?: boolean;
	  };

const longestWaitMs = 60_000;
const minuteMs = 60_000;

/** Queues requests to a server. Limits concurrency and requests per minute, and retries transient failures. */
export class RequestQueue {
	readonly #options: QueueOptions;
	readonly #waiting: (() => void)[] = [];
	/** Start times of recent requests that count toward the per-minute limit. */
	readonly #started: number[] = [];
	#inFlight = 0;
	/** Time before which nothing is sent, because a server's "slow down" applies to all requests. */
	#pausedUntil = 0;
	#retries = 0;

	constructor(options: QueueOptions) {
		this.#options = options;
	}

	/** Number of retries so far. */
	get retries(): number {
		return this.#retries;
	}

	/**
	 * Repeats an attempt until it succeeds. Fails with the last failure, or `cancelled`.
	 * @param once retry only if there were too many requests, for callers that want to know whether this request succeeds
	 */
	async run<T>(attempt: () => Promise<Tried<T>>, signal: AbortSignal, once = false): Promise<T> {
		await this.#enter(signal);
		try {
			let waitMs = this.#options.firstWaitMs ?? 500;
			for (let left = this.#options.retries; ; left--) {
				await this.#pause(signal);
				const tried = await attempt();
				if ('result' in tried) return tried.result;
				if (!tried.passing || left <= 0 || (once && tried.busy !== true)) throw tried.failure;
				const wait = Math.min(longestWaitMs, tried.waitMs ?? waitMs * (0.75 + Math.random() / 2));
				if (tried.waitMs !== undefined) this.#pausedUntil = Math.max(this.#pausedUntil, Date.now() + wait);
				this.#retries++;
				await rest(wait, signal);
				waitMs *= 2;
			}
		} finally {
			this.#leave();
		}
	}

	#enter(signal: AbortSignal): Promise<void> {
		if (signal.aborted) return Promise.reject(canceled());
		if (this.#inFlight < this.#options.concurrency) {
			this.#inFlight++;
			return Promise.resolve();
		}
		return new Promise((resolve, reject) => {
			const go = () => {
				signal.removeEventListener('abort', stop);
				resolve();
			};
			const stop = () => {
				this.#waiting.splice(this.#waiting.indexOf(go), 1);
				reject(canceled());
			};
			this.#waiting.push(go);
			signal.addEventListener('abort', stop, { once: true });
		});
	}

	/** Passes the slot to the next waiting request. */
	#leave(): void {
		const next = this.#waiting.shift();
		if (next === undefined) this.#inFlight--;
		else next();
	}

	async #pause(signal: AbortSignal): Promise<void> {
		for (let left = this.#wait(); left > 0; left = this.#wait()) await rest(left, signal);
		if (this.#options.requestsPerMinute !== undefined) this.#started.push(Date.now());
	}

	/** Returns how long until the next request may start, in milliseconds. */
	#wait(): number {
		const now = Date.now();
		const paused = this.#pausedUntil - now;
		const limit = this.#options.requestsPerMinute;
		if (limit === undefined || limit <= 0) return paused;
		while (this.#started.length > 0 && (this.#started[0] as number) <= now - minuteMs) this.#started.shift();
		const full = this.#started.length >= Math.max(1, Math.floor(limit));
		return Math.max(paused, full ? (this.#started[0] as number) + minuteMs - now : 0);
	}
}

const canceled = () => new Failure('cancelled', 'The request was canceled.');

async function rest(ms: number, signal: AbortSignal): Promise<void> {
	await pause(ms, signal);
	if (signal.aborted) throw canceled();
}
