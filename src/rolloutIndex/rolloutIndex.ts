import { basename, dirname, join } from 'node:path';
import { unlessAborted } from '../base/async.ts';
import { toDisposable } from '../base/disposable.ts';
import { Emitter } from '../base/event.ts';
import { Failure } from '../base/failure.ts';
import type {
	IndexNews,
	IndexParams,
	IndexProgress,
	IndexResult,
	IndexStatus,
	RolloutFilter,
} from '../protocol/rolloutIndex.ts';
import { openRun } from '../runs/openRun.ts';
import { IndexQueries } from './indexQueries.ts';
import { IndexWriter } from './indexWriter.ts';
import { closeIndex, fileSize, type OpenedIndex, openIndex } from './openIndex.ts';
import { isWholeSteps } from './rolloutFilter.ts';
import { RunIndexer } from './runIndexer.ts';
import { quickStamp, searchedParts } from './runParts.ts';
import { type SearchedPart, searchTexts } from './textSearch.ts';
import { ThreadPool } from './threadPool.ts';

export interface RolloutIndexOptions {
	/** Index folder; null for an in-memory index. */
	readonly storage: string | null;
	/** DuckDB's memory limit in MB. */
	readonly memoryMb?: number;
	/** Memory limit for the whole process in MB; a statement that exceeds it is stopped. */
	readonly processMb?: number;
	/** Maximum number of threads that read runs. Each needs about 40 MB. */
	readonly threads?: number;
	/** Interval between checks of runs for changes, in ms. 0 to check only on request. */
	readonly lookEveryMs?: number;
	/** Threads shared with other indexes, which the caller disposes of. Default: the index has its own. */
	readonly sharedThreads?: ThreadPool;
}

type Settings = Required<Omit<RolloutIndexOptions, 'sharedThreads'>> & Pick<RolloutIndexOptions, 'sharedThreads'>;

interface Known {
	readonly folder: string;
	progress: IndexProgress;
	/** Stamp of the run's files when they were last read. */
	stamp: string;
	live: boolean;
	lookedMs: number;
	looking: boolean;
	/** The last read that was requested and has not settled. */
	work: Promise<void> | null;
	/** Abort controllers of all reads that have not settled. Each caller has its own. */
	readonly stops: Set<AbortController>;
	removed: boolean;
}

/** Runs that are no longer being written to are checked less often, by this factor. */
const restingFactor = 12;

/** Index of the runs in one workspace, and all queries on it. Call `close` when done. */
export class RolloutIndex extends IndexQueries {
	readonly #options: Settings;
	readonly #threads: ThreadPool;
	readonly #runs = new Map<string, Known>();
	readonly #progress = this.register(new Emitter<IndexProgress>());
	readonly #writer: IndexWriter;
	readonly #indexer: RunIndexer;
	/** Runs are indexed one at a time, since each uses all threads. Runs that a caller is waiting for come first. */
	readonly #asked: (() => Promise<void>)[] = [];
	readonly #waiting: (() => Promise<void>)[] = [];
	#working: Promise<void> | null = null;
	#message: string | null;
	#paused = false;
	readonly onProgress = this.#progress.event;

	private constructor(opened: OpenedIndex, writer: IndexWriter, options: Settings) {
		super(opened, options);
		this.#options = options;
		this.#threads = options.sharedThreads ?? this.register(new ThreadPool(options.threads));
		this.#message = opened.message;
		this.#writer = writer;
		this.#indexer = new RunIndexer(writer, this.#threads);
		if (options.lookEveryMs > 0) {
			const timer = setInterval(() => void this.#look(), options.lookEveryMs);
			this.register(toDisposable(() => clearInterval(timer)));
		}
	}

	static async open(options: RolloutIndexOptions): Promise<RolloutIndex> {
		const all = { memoryMb: 400, processMb: 1200, threads: 4, lookEveryMs: 0, ...options };
		const opened = await openIndex({ storage: all.storage, memoryMb: all.memoryMb, threads: 2 });
		return new RolloutIndex(opened, new IndexWriter(await opened.database.connect()), all);
	}

	/** Stops all work and closes the file. */
	async close(): Promise<void> {
		for (const run of this.#runs.values()) stopReads(run);
		this.dispose();
		while (this.#working !== null) await this.#working;
		this.#writer.connection.close();
		await closeIndex(this.opened);
	}

	/** Sets the existing runs; runs that no longer exist are removed from the index. Indexing starts automatically. */
	async setRuns(folders: readonly string[]): Promise<void> {
		const wanted = new Set(folders);
		for (const run of [...this.#runs.values()]) {
			if (wanted.has(run.folder)) continue;
			this.#runs.delete(run.folder);
			run.removed = true;
			stopReads(run);
		}
		for (const folder of await this.indexedRuns()) {
			if (!wanted.has(folder)) await this.#inTurn(() => this.#indexer.remove(folder), true);
		}
		for (const folder of folders) {
			if (this.#runs.has(folder)) continue;
			const run = this.#known(folder);
			if (!this.#paused) void this.#update(run).catch(() => undefined);
		}
	}

	/** Returns the folders of the runs in the index, including those that an earlier process indexed. */
	async indexedRuns(): Promise<string[]> {
		return (await this.#writer.connection.rows('select folder from run')).map(([folder]) => String(folder));
	}

	/**
	 * Resolves when the index matches the run on disk. Fails with the same errors as reading the run, and with `cancelled`
	 * as soon as the signal fires; other callers that wait for the same run are not affected.
	 */
	async index(folder: string, signal?: AbortSignal): Promise<IndexProgress> {
		const run = this.#known(folder);
		// Do not wait for other runs to be indexed if this one is up to date.
		if (this.#working !== null && run.progress.state === 'ready' && (await this.#isCurrent(run))) return run.progress;
		// The current read may have started before the last change, so read again, which is fast if nothing changed. A
		// read that is only pending is requested again so that it moves to the front.
		if (run.work !== null && run.progress.state === 'indexing') {
			await unlessAborted(
				run.work.catch(() => undefined),
				signal,
			);
		}
		await unlessAborted(this.#update(run, true, signal), signal);
		return run.progress;
	}

	async status(): Promise<IndexStatus> {
		return {
			runs: [...this.#runs.values()].map(({ progress }) => progress),
			index: this.opened.kind,
			bytes: await fileSize(this.opened.path),
			message: this.#message,
		};
	}

	/** Searches completions; an index is needed only if the filter selects by more than runs, splits and steps. */
	async search(
		params: IndexParams<'search'>,
		notify: (news: IndexNews<'hits'>) => void,
		signal?: AbortSignal,
	): Promise<IndexResult<'search'>> {
		const start = performance.now();
		const { search, query, filter, limit } = params;
		const folders = filter.runs ?? [...this.#runs.keys()];
		const parts: SearchedPart[] = [];
		for (const folder of folders) parts.push(...(await this.#searched(folder, filter, signal)));
		const outcome = await searchTexts(
			this.#threads,
			parts,
			query,
			limit,
			{ hits: (hits, bytes, total) => notify({ search, hits: [...hits], bytes, total }) },
			signal,
		);
		return { ...outcome, limits: [...outcome.limits], millis: performance.now() - start };
	}

	/** Pauses or resumes background indexing. */
	pause(paused: boolean): void {
		this.#paused = paused;
		for (const run of this.#runs.values()) {
			if (paused) stopReads(run);
			else if (run.progress.state === 'waiting') void this.#update(run).catch(() => undefined);
		}
	}

	/** Deletes everything and starts over. */
	async rebuild(): Promise<void> {
		for (const run of this.#runs.values()) stopReads(run);
		await this.#inTurn(
			() =>
				this.#writer.transaction(async (connection) => {
					for (const table of ['rollout', 'part', 'metric', 'evaluation', 'run']) {
						await connection.run(`delete from ${table}`);
					}
				}),
			true,
		);
		this.#message = null;
		for (const run of this.#runs.values()) void this.#update(run).catch(() => undefined);
	}

	async #searched(folder: string, filter: RolloutFilter, signal?: AbortSignal): Promise<SearchedPart[]> {
		const content = await openRun(folder);
		const { split, steps } = filter;
		const listed = await searchedParts(content, signal);
		const parts = listed.filter(
			(part) =>
				(split === undefined || part.split === split) &&
				(content.hasSteps || steps === undefined) &&
				part.step >= (steps?.from ?? Number.NEGATIVE_INFINITY) &&
				part.step <= (steps?.to ?? Number.POSITIVE_INFINITY),
		);
		const searched = parts.map(
			(part): SearchedPart => ({
				...part,
				run: folder,
				folder: content.folder,
				format: content.format,
				stepless: !content.hasSteps,
				only: null,
			}),
		);
		if (isWholeSteps(filter)) return searched;
		await this.index(folder, signal);
		const only = await this.matching(folder, filter, signal);
		return searched.flatMap((part) => {
			const list = only.get(`${part.split} ${part.step}`);
			return list === undefined ? [] : [{ ...part, only: list }];
		});
	}

	#known(folder: string): Known {
		let run = this.#runs.get(folder);
		if (run === undefined) {
			run = {
				folder,
				progress: { run: folder, state: 'waiting', done: 0, total: 0, rollouts: 0, skipped: 0, message: null },
				stamp: '',
				live: false,
				lookedMs: 0,
				looking: false,
				work: null,
				stops: new Set(),
				removed: false,
			};
			this.#runs.set(folder, run);
		}
		return run;
	}

	#inTurn<T>(work: () => Promise<T>, asked: boolean): Promise<T> {
		const result = new Promise<T>((resolve, reject) => {
			(asked ? this.#asked : this.#waiting).push(() => work().then(resolve, reject));
		});
		this.#working ??= this.#work();
		return result;
	}

	async #work(): Promise<void> {
		// Let pending requests go first.
		await Promise.resolve();
		for (;;) {
			const next = this.#asked.shift() ?? this.#waiting.shift();
			if (next === undefined) break;
			await next();
		}
		this.#working = null;
	}

	/** Queues a run to be read. */
	#update(run: Known, asked = false, caller?: AbortSignal): Promise<void> {
		const stop = new AbortController();
		const { signal } = stop;
		const cancel = () => stop.abort();
		caller?.addEventListener('abort', cancel, { once: true });
		if (caller?.aborted) cancel();
		run.stops.add(stop);
		const work = this.#inTurn(async () => {
			if (signal.aborted || this.disposed) throw new Failure('cancelled', 'Canceled.');
			try {
				run.stamp = await quickStamp(run.folder);
				run.lookedMs = Date.now();
				const { rollouts, skipped, fault, live } = await this.#indexer.index(
					run.folder,
					{
						progress: (done, total, rollouts, skipped) =>
							this.#tell(run, { state: 'indexing', done, total, rollouts, skipped, message: null }),
					},
					signal,
				);
				run.live = live;
				await this.#label();
				const { total } = run.progress;
				this.#tell(run, { state: 'ready', done: total, total, rollouts, skipped, message: fault });
			} catch (error) {
				const failure = Failure.from(error);
				if (run.removed) return;
				const state = failure.reason === 'cancelled' ? 'waiting' : 'failed';
				if (failure.reason === 'missing') await this.#indexer.remove(run.folder);
				// The data read so far can be queried.
				if (state === 'waiting') await this.#label();
				this.#tell(run, { ...run.progress, state, message: state === 'failed' ? failure.toString() : null });
				throw failure;
			}
		}, asked);
		const settled = work.finally(() => {
			caller?.removeEventListener('abort', cancel);
			run.stops.delete(stop);
			if (run.work === settled) run.work = null;
		});
		run.work = settled;
		settled.catch(() => undefined);
		return settled;
	}

	#reportedAt = 0;

	#tell(run: Known, progress: Omit<IndexProgress, 'run'>): void {
		const before = run.progress.state;
		run.progress = { ...progress, run: run.folder };
		const now = Date.now();
		// Intermediate progress is reported at most ten times per second.
		if (before === progress.state && progress.state === 'indexing' && now - this.#reportedAt < 100) return;
		this.#reportedAt = now;
		if (!this.disposed) this.#progress.fire(run.progress);
	}

	/** Assigns unique run labels: the folder name, plus as many parent folders as necessary. */
	async #label(): Promise<void> {
		await this.#writer.transaction(async (connection) => {
			const rows = await connection.rows('select key, folder, label from run');
			const labels = labelsOf(rows.map(([, folder]) => String(folder)));
			for (const [key, folder, label] of rows) {
				const wanted = labels.get(String(folder));
				if (wanted === label) continue;
				await connection.run('update run set label = $label where key = $key', {
					label: wanted as string,
					key: Number(key),
				});
			}
		});
	}

	/** Returns whether the newest files of a run are unchanged since they were last read. */
	async #isCurrent(run: Known): Promise<boolean> {
		return (await quickStamp(run.folder).catch(() => '')) === run.stamp;
	}

	async #look(): Promise<void> {
		for (const run of [...this.#runs.values()]) {
			if (run.work !== null || this.#paused || this.disposed) continue;
			const every = this.#options.lookEveryMs * (run.live ? 1 : restingFactor);
			if (run.looking || Date.now() - run.lookedMs < every) continue;
			// On a slow disk, a check can take longer than the interval between checks.
			run.looking = true;
			const current = await this.#isCurrent(run);
			run.looking = false;
			run.lookedMs = Date.now();
			if (current || run.work !== null || run.removed || this.disposed) continue;
			void this.#update(run).catch(() => undefined);
		}
	}
}

function stopReads({ stops }: Known): void {
	for (const stop of stops) stop.abort();
}

/** Returns the shortest path suffixes that are unique. */
export function labelsOf(folders: readonly string[]): Map<string, string> {
	const labels = new Map<string, string>();
	let open = [...new Set(folders)];
	for (let depth = 1; open.length > 0; depth++) {
		const times = new Map<string, number>();
		for (const folder of open) times.set(ending(folder, depth), (times.get(ending(folder, depth)) ?? 0) + 1);
		open = open.filter((folder) => {
			const label = ending(folder, depth);
			const whole = label === ending(folder, depth + 1);
			if (times.get(label) === 1 || whole) labels.set(folder, whole && times.get(label) !== 1 ? folder : label);
			return !labels.has(folder);
		});
	}
	return labels;
}

function ending(folder: string, depth: number): string {
	let label = basename(folder);
	for (let up = dirname(folder), i = 1; i < depth && basename(up) !== ''; up = dirname(up), i++) {
		label = join(basename(up), label);
	}
	return label.replaceAll('\\', '/');
}
