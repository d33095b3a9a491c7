import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';

export type JobKind = 'search' | 'evaluation';
export type JobState = 'running' | 'finished' | 'failed' | 'stopped';

/** Interface passed to a job's work. */
export interface JobWork {
	/** Fires when the job is stopped. */
	readonly signal: AbortSignal;
	/** Reports progress, replacing the last report. */
	report(progress: object): void;
}

/** Task that outlives the call that started it. */
export interface Job {
	/** An ID such as `search-1`, unique within this server. */
	readonly id: string;
	readonly kind: JobKind;
	/** Subject of the job for responses: its address and names. */
	readonly subject: object;
	/** Unix time in milliseconds. */
	readonly started: number;
	readonly state: JobState;
	/** The last report; null if there is none. */
	readonly progress: object | null;
	/** Result of a finished or stopped job; null if there is none. */
	readonly result: object | null;
	readonly failure: Failure | null;
}

type MutableJob = { -readonly [K in keyof Job]: Job[K] } & {
	readonly stop: AbortController;
	readonly ended: Promise<void>;
	readonly listeners: Set<() => void>;
};

/** Maximum number of concurrent jobs, because each holds a model in memory. */
const maxRunning = 4;
/** Number of ended jobs that can still be read. */
const maxEnded = 100;
const disposeMs = 5000;

/** Searches and evaluations started by clients of this server. They stop when the server exits. */
export class Jobs {
	readonly #jobs = new Map<string, MutableJob>();
	#last = 0;

	/** Starts work. Fails with `busy` if too many jobs are running. */
	start(kind: JobKind, subject: object, work: (context: JobWork) => Promise<object>): Job {
		this.requireRoom();
		const stop = new AbortController();
		const listeners = new Set<() => void>();
		const notify = () => {
			for (const listener of [...listeners]) listener();
		};
		const report = (progress: object) => {
			job.progress = progress;
			notify();
		};
		const ended = Promise.resolve()
			.then(() => work({ signal: stop.signal, report }))
			.then(
				(result) => {
					job.result = result;
					job.state = stop.signal.aborted ? 'stopped' : 'finished';
				},
				(error: unknown) => {
					job.failure = Failure.from(error);
					job.state = stop.signal.aborted ? 'stopped' : 'failed';
				},
			)
			.then(notify);
		const job: MutableJob = {
			...{ id: `${kind}-${++this.#last}`, kind, subject, started: Date.now(), state: 'running' },
			...{ progress: null, result: null, failure: null, stop, ended, listeners },
		};
		this.#jobs.set(job.id, job);
		const over = [...this.#jobs.values()].filter(({ state }) => state !== 'running');
		for (const { id } of over.slice(0, Math.max(0, over.length - maxEnded))) this.#jobs.delete(id);
		return job;
	}

	/** Fails with `busy` if no other job can start. */
	requireRoom(): void {
		const running = [...this.#jobs.values()].filter(({ state }) => state === 'running');
		if (running.length < maxRunning) return;
		throw new Failure(
			'busy',
			`${formatCounted(running.length, 'job is', 'jobs are')} running: ${running.map(({ id }) => id).join(', ')}.`,
			'Wait for one with read_job, or stop one with stop_job.',
		);
	}

	/** Lists jobs, newest first. */
	list(): Job[] {
		return [...this.#jobs.values()].reverse();
	}

	/** Fails with `missing` for an unknown job. */
	get(id: string): Job {
		return this.#find(id);
	}

	/**
	 * Waits until a job ends, the timeout expires, or the signal fires, whichever comes first.
	 * @param onReport called for each of the job's reports
	 */
	async wait(id: string, ms: number, signal: AbortSignal, onReport: (job: Job) => void): Promise<Job> {
		const job = this.#find(id);
		if (job.state !== 'running' || ms <= 0 || signal.aborted) return job;
		const listener = () => onReport(job);
		let timer: NodeJS.Timeout | undefined;
		let leave: () => void = () => undefined;
		const left = new Promise<void>((resolve) => {
			leave = resolve;
			timer = setTimeout(resolve, ms);
		});
		job.listeners.add(listener);
		signal.addEventListener('abort', leave, { once: true });
		try {
			onReport(job);
			await Promise.race([job.ended, left]);
		} finally {
			clearTimeout(timer);
			job.listeners.delete(listener);
			signal.removeEventListener('abort', leave);
		}
		return job;
	}

	/** Stops a job and waits until its files are complete. Keeps finished results. */
	async stop(id: string): Promise<Job> {
		const job = this.#find(id);
		job.stop.abort();
		await job.ended;
		return job;
	}

	/** Stops all jobs and waits, up to a limit, until their files are complete. */
	async dispose(): Promise<void> {
		const jobs = [...this.#jobs.values()];
		for (const { stop } of jobs) stop.abort();
		const late = new Promise((resolve) => setTimeout(resolve, disposeMs).unref());
		await Promise.race([Promise.all(jobs.map(({ ended }) => ended)), late]);
	}

	#find(id: string): MutableJob {
		const job = this.#jobs.get(id);
		if (job !== undefined) return job;
		const ids = [...this.#jobs.keys()].slice(-10);
		throw new Failure(
			'missing',
			`There is no job "${id.slice(0, 100)}".`,
			`${ids.length === 0 ? 'This server has not started any jobs' : `Known jobs: ${ids.join(', ')}`}. Jobs end when their server exits. list_searches and list_evaluations list what they recorded; to continue, call continue_search, or start_evaluation with the same settings.`,
		);
	}
}
