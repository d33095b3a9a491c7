import { Failure } from '../../../base/failure.ts';
import { pause } from '../../../rpc/pause.ts';
import type { JobsApi } from './jobsApi.ts';
import { listenToTexts } from './textSocket.ts';

/** Maximum length of a text line. Trainers can print long progress lines. */
const longestText = 1 << 20;

export interface JobLogOptions {
	/** Interval between reads of the whole log if it cannot be streamed, in milliseconds. Default: 2000. */
	readonly pollMs?: number;
	/** Set to false to never use a WebSocket. */
	readonly socket?: boolean;
}

/** Follows a job's output over unreliable connections and delivers each line once. */
export class JobLog {
	readonly #api: JobsApi;
	readonly #job: string;
	readonly #onLine: (line: string) => Promise<void>;
	readonly #pollMs: number;
	#useSocket: boolean;
	/** Number of lines delivered. */
	#reported = 0;

	constructor(api: JobsApi, job: string, onLine: (line: string) => Promise<void>, options: JobLogOptions = {}) {
		this.#api = api;
		this.#job = job;
		this.#onLine = onLine;
		this.#pollMs = options.pollMs ?? 2000;
		this.#useSocket = options.socket ?? true;
	}

	/** Follows the log until the signal aborts. Retries after errors. */
	async follow(signal: AbortSignal): Promise<void> {
		let rest = this.#pollMs;
		while (!signal.aborted) {
			const start = performance.now();
			try {
				if (this.#useSocket) await this.#overSocket(signal);
				else await this.readAll(signal);
				rest = this.#pollMs;
			} catch (error) {
				if (signal.aborted) return;
				// A full disk is not a connection error, so do not retry.
				if (Failure.from(error).reason === 'full') throw error;
				rest = Math.min(rest * 2, 30_000);
			}
			// Each read fetches the whole log, so poll long logs less often.
			await pause(Math.max(rest, this.#useSocket ? 0 : 10 * (performance.now() - start)), signal);
		}
	}

	/** Delivers new lines from the log. */
	async readAll(signal?: AbortSignal): Promise<void> {
		const text = await this.#api.logs(this.#job, signal);
		const lines = text.split('\n');
		if (lines.at(-1) === '') lines.pop();
		await this.#tell(lines, 0);
	}

	/** @param first log index of the first line in `lines` */
	async #tell(lines: readonly string[], first: number): Promise<void> {
		for (const [i, line] of lines.entries()) {
			if (first + i < this.#reported) continue;
			await this.#onLine(this.#api.redactor.text(line));
			this.#reported = first + i + 1;
		}
	}

	async #overSocket(signal: AbortSignal): Promise<void> {
		const { headers } = this.#api.cluster;
		let position = 0;
		let pending = '';
		let work: Promise<void> = Promise.resolve();
		let failure: unknown = null;
		const broken = new AbortController();
		const onText = (text: string) => {
			const lines = (pending + text).split('\n');
			pending = lines.pop() ?? '';
			if (pending.length > longestText) pending = '';
			const first = position;
			position += lines.length;
			work = work
				.then(() => this.#tell(lines, first))
				.catch((error: unknown) => {
					failure ??= error;
					broken.abort();
				});
		};
		let spoken = false;
		let lost: unknown = null;
		try {
			spoken = await listenToTexts(this.#api.tailAddress(this.#job), {
				headers,
				signal: AbortSignal.any([signal, broken.signal]),
				onText,
			});
		} catch (error) {
			lost = error;
		}
		await work;
		if (failure !== null || lost !== null) throw failure ?? lost;
		if (spoken) return;
		// Either the proxy does not support WebSockets or the job does not exist. Reading the whole log reveals which.
		await this.readAll(signal);
		this.#useSocket = false;
	}
}
