import { Failure } from '../../../base/failure.ts';
import { isFinal, type JobInfo, type JobsApi } from './jobsApi.ts';

/** Job state from one poll. */
export type JobSight =
	| { readonly kind: 'there'; readonly job: JobInfo }
	/** The cluster responds but does not know the job. */
	| { readonly kind: 'gone' }
	/** No response; `since` in milliseconds. */
	| { readonly kind: 'unreachable'; readonly failure: Failure; readonly since: number };

export interface JobWatchOptions {
	/** Polling interval in milliseconds. Default: 2000. */
	readonly pollMs?: number;
	/** Maximum polling interval while there is no response, in milliseconds. Default: 30000. */
	readonly longestMs?: number;
}

/** Polls a job, backing off while the cluster is unreachable. */
export class JobWatch {
	readonly #api: JobsApi;
	readonly #id: string;
	readonly #pollMs: number;
	readonly #longestMs: number;
	#next = 0;
	#rest: number;
	#since: number | null = null;
	#sight: JobSight | null = null;

	constructor(api: JobsApi, id: string, { pollMs = 2000, longestMs = 30_000 }: JobWatchOptions = {}) {
		this.#api = api;
		this.#id = id;
		this.#pollMs = pollMs;
		this.#longestMs = longestMs;
		this.#rest = pollMs;
	}

	get ended(): boolean {
		return this.#sight?.kind === 'there' && isFinal(this.#sight.job.status);
	}

	/**
	 * Returns the known state. Polls if the interval has elapsed.
	 * @param force poll immediately
	 */
	async look(force = false): Promise<JobSight | null> {
		if (this.ended || (!force && Date.now() < this.#next)) return this.#sight;
		try {
			const job = await this.#api.job(this.#id);
			this.#sight = job === null ? { kind: 'gone' } : { kind: 'there', job };
			this.#since = null;
			this.#rest = this.#pollMs;
		} catch (error) {
			const failure = Failure.from(error);
			if (failure.reason !== 'unavailable') throw failure;
			this.#since ??= Date.now();
			this.#sight = { kind: 'unreachable', failure, since: this.#since };
			this.#rest = Math.min(this.#longestMs, this.#rest * 2);
		}
		this.#next = Date.now() + this.#rest;
		return this.#sight;
	}
}
