import { Failure } from '../../base/failure.ts';
import { pause } from '../pause.ts';

export interface QueueOptions {
	/** Requests in flight at once; the others wait in their order. */
	readonly concurrency: number;
	/** Further tries after a failure that may pass. */
	readonly retries: number;
	/** Wait before the first further try; it doubles each time. Default 500. */
	readonly firstWaitMs?: number;
	/** Requests that begin within any minute at most, tries counted. Default: any number. */
	readonly requestsPerMinute?: number;
}

/** What a try came to: a result, or a failure, which may pass. */
export type Tried<T> =
	| { readonly result: T }
	| {
			readonly failure: Failure;
			readonly passing: boolean;
			/** The server said how long to wait, so it says it to all requests. */
			readonly waitMs?: number;
			/** There were too many requests, which says nothing about this one. */
			readonly busy?: boolean;
	  };

const longestWaitMs = 60_000;
const minuteMs = 60_000;

/** Requests to one server: so many at once, so many a minute, again after failures that pass. */
export class RequestQueue {
	readonly #options: QueueOptions;
	readonly #waiting: (() => void)[] = [];
	/** When the last requests began, as far as they count for the limit of a minute. */
	readonly #begun: number[] = [];
	#inFlight = 0;
	/** Nothing is sent before this time: a server that says "slow down" says it to all requests. */
	#pausedUntil = 0;
	#retries = 0;

	constructor(options: QueueOptions) {
		this.#options = options;
	}

	/** Tries that were made again so far. */
	get retries(): number {
		return this.#retries;
	}

	/**
	 * Tries until there is a result. Fails with the last failure, or `cancelled`.
	 * @param once tries again only where there were too many requests: for who wants to know whether this one is answered
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
		if (signal.aborted) return Promise.reject(cancelled());
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
				reject(cancelled());
			};
			this.#waiting.push(go);
			signal.addEventListener('abort', stop, { once: true });
		});
	}

	/** The place goes to the next that waits. */
	#leave(): void {
		const next = this.#waiting.shift();
		if (next === undefined) this.#inFlight--;
		else next();
	}

	async #pause(signal: AbortSignal): Promise<void> {
		for (let left = this.#wait(); left > 0; left = this.#wait()) await rest(left, signal);
		if (this.#options.requestsPerMinute !== undefined) this.#begun.push(Date.now());
	}

	/** Milliseconds until the next request may begin. */
	#wait(): number {
		const now = Date.now();
		const paused = this.#pausedUntil - now;
		const most = this.#options.requestsPerMinute;
		if (most === undefined || most <= 0) return paused;
		while (this.#begun.length > 0 && (this.#begun[0] as number) <= now - minuteMs) this.#begun.shift();
		const full = this.#begun.length >= Math.max(1, Math.floor(most));
		return Math.max(paused, full ? (this.#begun[0] as number) + minuteMs - now : 0);
	}
}

const cancelled = () => new Failure('cancelled', 'The request was canceled.');

async function rest(ms: number, signal: AbortSignal): Promise<void> {
	await pause(ms, signal);
	if (signal.aborted) throw cancelled();
}
