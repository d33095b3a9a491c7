import { type FSWatcher, watch } from 'node:fs';
import { Disposable, toDisposable } from '../base/disposable.ts';
import { Emitter } from '../base/event.ts';
import { Failure } from '../base/failure.ts';
import { type LineOverviewOptions, overviewLines } from '../files/lineOverview.ts';
import { LineTail } from '../files/lineTail.ts';
import type { EvaluationSummary } from '../protocol/evaluation.ts';
import { type EventLine, eventLineSchema } from '../protocol/eventLine.ts';
import type { MetricsLine } from '../protocol/metricsLine.ts';
import type { AnyRunRecord, RunRecord, RunStatus } from '../protocol/runRecord.ts';
import type { CheckpointInfo } from './checkpointFiles.ts';
import { FolderNews } from './folderNews.ts';
import { runFiles } from './runFiles.ts';
import { decodeLines, decodeMetrics } from './runReader.ts';
import { readRunState } from './runStatus.ts';

/**
 * Events from a tail. Within one round, the order is always `reset`, `record`, `events`, `overview`, `metrics`,
 * `evaluations`, `rollouts`, `checkpoints`, `synced`. The record is read before the lines, so once it says that the run
 * has ended, the entire run has been reported by the next `synced`.
 */
export type RunTailEvent<T extends AnyRunRecord = AnyRunRecord> =
	/**
	 * Discard everything reported so far: the run was resumed or replaced, or its files were rewritten, and is reported
	 * again from the start.
	 */
	| { readonly kind: 'reset' }
	/** run.json changed, or the engine died; `status` is the effective one. */
	| { readonly kind: 'record'; readonly record: T; readonly status: RunStatus }
	/** New lines, each reported once. Long files are reported in several parts. */
	| { readonly kind: 'events'; readonly lines: readonly EventLine[] }
	| { readonly kind: 'metrics'; readonly lines: readonly MetricsLine[] }
	/**
	 * Sent before the metrics of a long file: a sample of lines from the whole file, which are reported again later. Valid
	 * until the next `synced`; do not store it.
	 */
	| { readonly kind: 'overview'; readonly lines: readonly MetricsLine[] }
	/** New evaluations, each reported once. */
	| { readonly kind: 'evaluations'; readonly summaries: readonly EvaluationSummary[] }
	/**
	 * Steps with new rollouts, ascending. For another trainer's run, a step is reported again when it has more
	 * rollouts.
	 */
	| { readonly kind: 'rollouts'; readonly steps: readonly number[] }
	/** All existing checkpoints. */
	| { readonly kind: 'checkpoints'; readonly checkpoints: readonly CheckpointInfo[] }
	/** Everything that was on disk when the round began has been reported. */
	| { readonly kind: 'synced' }
	/**
	 * The run currently cannot be read (missing, corrupt, newer version). The tail keeps checking, and reports each
	 * reason once.
	 */
	| { readonly kind: 'error'; readonly failure: Failure };

/** Delay between the overview of a long file and reading all of it. */
const overviewHeadStartMs = 400;
/** File events that arrive within this time are handled together. */
const gatherMs = 20;

export interface RunTailOptions {
	/** Polling interval when there are no file events; default 1000. */
	readonly pollMs?: number;
	/** Whether to watch for file events; false for polling only. */
	readonly watch?: boolean;
	readonly overview?: LineOverviewOptions;
}

/**
 * Follows a run folder that is live, ended or not yet started, and reports its contents, followed by changes. Does not
 * need the engine: file events make it fast, and polling makes it reliable.
 */
export class RunTail extends Disposable {
	readonly folder: string;
	readonly #pollMs: number;
	readonly #watching: boolean;
	readonly #overview: LineOverviewOptions;
	readonly #emitter = this.register(new Emitter<RunTailEvent<RunRecord>>());
	readonly onEvent = this.#emitter.event;
	#watcher: FSWatcher | null = null;
	#timer: NodeJS.Timeout | null = null;
	/** Time when the timer fires, on the `performance.now()` clock. */
	#due = 0;
	#round: Promise<void> | null = null;
	#again = false;
	#started = false;

	#record: RunRecord | null = null;
	#status: RunStatus | null = null;
	#recordText = '';
	#metrics: LineTail;
	#events: LineTail;
	#folders: FolderNews;
	#forced = false;
	#lastFailure = '';
	#overviewReported = false;

	constructor(folder: string, options: RunTailOptions = {}) {
		super();
		this.folder = folder;
		this.#pollMs = options.pollMs ?? 1000;
		this.#watching = options.watch ?? true;
		this.#overview = options.overview ?? {};
		this.#metrics = new LineTail(folder, runFiles.metrics);
		this.#events = new LineTail(folder, runFiles.events);
		this.#folders = new FolderNews(folder);
		this.register(
			toDisposable(() => {
				this.#watcher?.close();
				if (this.#timer !== null) clearTimeout(this.#timer);
			}),
		);
	}

	/** Starts following the run; subscribe first. */
	start(): this {
		if (this.#started || this.disposed) return this;
		this.#started = true;
		void this.refresh();
		return this;
	}

	/**
	 * Checks everything immediately; resolves when all data that was on disk at the time of the call has been reported.
	 */
	async refresh(): Promise<void> {
		this.#forced = true;
		if (this.#round !== null) {
			// The current round might already be past the data that the caller wants.
			this.#again = true;
			await this.#round;
		}
		await (this.#round ?? this.#begin());
	}

	#begin(): Promise<void> {
		this.#again = false;
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#timer = null;
		const forced = this.#forced;
		const round = this.#look().finally(() => {
			if (forced && !this.#again) this.#forced = false;
			this.#round = null;
			if (this.disposed) return;
			if (this.#again) void this.#begin();
			else if (this.#started) this.#schedule(this.#pollMs);
		});
		this.#round = round;
		return round;
	}

	#schedule(delay: number): void {
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#due = performance.now() + delay;
		this.#timer = setTimeout(() => {
			if (this.#round === null) void this.#begin();
		}, delay);
	}

	/**
	 * Handles a file event: schedules a check soon, batching events that arrive together. A constant stream of events
	 * does not delay the check.
	 */
	#stir(): void {
		if (this.#round !== null) this.#again = true;
		else if (!this.disposed && (this.#timer === null || performance.now() + gatherMs < this.#due))
			this.#schedule(gatherMs);
	}

	#watchFolder(): void {
		if (!this.#watching || !this.#started || this.#watcher !== null || this.disposed) return;
		try {
			this.#watcher = watch(this.folder, { persistent: false }, () => this.#stir());
			this.#watcher.on('error', () => {
				this.#watcher?.close();
				this.#watcher = null;
			});
		} catch {
			// Polling continues.
		}
	}

	#fire(event: RunTailEvent<RunRecord>): void {
		if (!this.disposed) this.#emitter.fire(event);
	}

	async #look(): Promise<void> {
		try {
			this.#watchFolder();
			// If files are replaced while being read, start over, but with a limited number of attempts per round.
			for (let i = 0; i < 5; i++) if (await this.#reportNews()) return;
			this.#again = true;
		} catch (error) {
			this.#fail(Failure.from(error, `Cannot follow ${this.folder}`));
		}
	}

	/**
	 * @returns false if a file turned out to have been replaced; reported data was then reset and must be reported again
	 */
	async #reportNews(): Promise<boolean> {
		if (!(await this.#lookAtRecord())) return true;
		for (const [tail, kind] of [
			[this.#events, 'events'],
			[this.#metrics, 'metrics'],
		] as const) {
			if (kind === 'metrics') await this.#reportOverview();
			for (;;) {
				if (this.disposed) return true;
				const portion = await tail.read();
				if (portion === 'replaced') {
					this.#reset();
					return false;
				}
				if (portion === null) break;
				if (kind === 'events') this.#tell(kind, decodeLines(portion, eventLineSchema));
				else this.#tell(kind, decodeMetrics(portion));
			}
		}
		await this.#lookAtFolders();
		this.#lastFailure = '';
		this.#fire({ kind: 'synced' });
		return true;
	}

	/** Reports an overview once, before a run's metrics are reported from the start. */
	async #reportOverview(): Promise<void> {
		if (this.#overviewReported || this.disposed) return;
		this.#overviewReported = true;
		// Without an overview, rows appear as they are read.
		const lines = await overviewLines(this.folder, runFiles.metrics, this.#overview).catch(() => null);
		if (lines === null) return;
		this.#tell('overview', decodeMetrics(lines));
		// Let the consumer draw the overview before the rest is read.
		await new Promise((resolve) => setTimeout(resolve, overviewHeadStartMs));
	}

	#tell(kind: 'events' | 'overview' | 'metrics', lines: readonly (EventLine | MetricsLine)[]): void {
		if (lines.length > 0) this.#fire({ kind, lines } as RunTailEvent<RunRecord>);
	}

	/** @returns whether there is a readable run */
	async #lookAtRecord(): Promise<boolean> {
		let record: RunRecord;
		let status: RunStatus;
		try {
			({ record, status } = await readRunState(this.folder));
		} catch (error) {
			const failure = Failure.from(error);
			// The run has not started yet, so the folder might be waiting for its engine.
			this.#fail(failure);
			return false;
		}
		if (this.#record !== null && (record.attempt !== this.#record.attempt || record.id !== this.#record.id)) {
			this.#reset();
		}
		const text = JSON.stringify(record);
		if (text === this.#recordText && status === this.#status) return true;
		this.#record = record;
		this.#recordText = text;
		this.#status = status;
		this.#fire({ kind: 'record', record, status });
		return true;
	}

	#fail(failure: Failure): void {
		const key = `${failure.reason} ${failure.message}`;
		if (key === this.#lastFailure) return;
		this.#lastFailure = key;
		this.#fire({ kind: 'error', failure });
	}

	#reset(): void {
		this.#record = null;
		this.#recordText = '';
		this.#status = null;
		this.#metrics = new LineTail(this.folder, runFiles.metrics);
		this.#events = new LineTail(this.folder, runFiles.events);
		this.#folders = new FolderNews(this.folder);
		this.#overviewReported = false;
		this.#fire({ kind: 'reset' });
	}

	async #lookAtFolders(): Promise<void> {
		const summaries = await this.#folders.evaluations(this.#forced);
		if (summaries.length > 0) this.#fire({ kind: 'evaluations', summaries });
		const steps = await this.#folders.rollouts(this.#forced);
		if (steps.length > 0) this.#fire({ kind: 'rollouts', steps });
		const checkpoints = await this.#folders.checkpoints(this.#forced);
		if (checkpoints !== null) this.#fire({ kind: 'checkpoints', checkpoints });
	}
}
