import { lstat } from 'node:fs/promises';
import { Disposable, toDisposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { Failure } from '../../base/failure.ts';
import type { LineOverviewOptions } from '../../files/lineOverview.ts';
import type { RunFollower } from '../runContent.ts';
import type { RunTailEvent } from '../runTail.ts';
import type { FoundFile } from './folderView.ts';
import { ForeignRun } from './foreignRun.ts';
import type { RunFormat } from './runFormat.ts';
import { differenceOf } from './stepDifference.ts';

export interface FollowOptions {
	/** Between two looks at the files; default 2000. */
	readonly pollMs?: number;
	readonly overview?: LineOverviewOptions;
}

/** After a look, the next waits this many times its length at least: large folders cost no more than 5%. */
const restFactor = 20;
/** The newest steps are inspected in every round for more rollouts, the others in turn. */
const newestSteps = 3;
const othersARound = 50;

/**
 * Follows another trainer's run by polling its files: they may be on any file system, and nothing in them says that the
 * run has ended. Files that only grow bring what is new in them; files that were rewritten, shortened or removed reset.
 */
export class ForeignFollower extends Disposable implements RunFollower {
	readonly folder: string;
	readonly #format: RunFormat;
	readonly #pollMs: number;
	readonly #overview: LineOverviewOptions;
	readonly #emitter = this.register(new Emitter<RunTailEvent>());
	readonly onEvent = this.#emitter.event;
	#run: ForeignRun;
	#timer: NodeJS.Timeout | null = null;
	#round: Promise<void> | null = null;
	#again = false;
	#started = false;
	#record = '';
	/** Step -> its files as they were last seen; null: not inspected yet. */
	#steps = new Map<number, readonly FoundFile[] | null>();
	#turn = 0;
	/** What was read and is not told yet: rows of metrics from this step on, and steps with rollouts. */
	#untold = { from: Number.POSITIVE_INFINITY, steps: new Set<number>() };
	#lastFailure = '';
	/** Something of what is in the run was told, and not reset since. */
	#told = false;
	#gone = false;

	constructor(folder: string, format: RunFormat, { pollMs = 2000, overview = {} }: FollowOptions = {}) {
		super();
		this.folder = folder;
		this.#format = format;
		this.#pollMs = pollMs;
		this.#overview = overview;
		this.#run = new ForeignRun(folder, format, { live: true });
		this.register(
			toDisposable(() => {
				if (this.#timer !== null) clearTimeout(this.#timer);
			}),
		);
	}

	start(): this {
		if (this.#started || this.disposed) return this;
		this.#started = true;
		void this.refresh();
		return this;
	}

	async refresh(): Promise<void> {
		if (this.#round !== null) {
			// The round that is under way may have passed what the caller means.
			this.#again = true;
			await this.#round;
		}
		await (this.#round ?? this.#begin());
	}

	#begin(): Promise<void> {
		this.#again = false;
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#timer = null;
		const start = performance.now();
		const round = this.#look().finally(() => {
			this.#round = null;
			if (this.disposed) return;
			if (this.#again) void this.#begin();
			else if (this.#started) {
				const rest = restFactor * (performance.now() - start);
				this.#timer = setTimeout(() => void this.#begin(), Math.max(this.#pollMs, rest));
			}
		});
		this.#round = round;
		return round;
	}

	async #look(): Promise<void> {
		try {
			const info = await lstat(this.folder).catch((error: unknown) => {
				throw Failure.from(error, `Cannot follow ${this.folder}`);
			});
			if (!info.isDirectory()) throw new Failure('missing', `${this.folder} is no longer a folder.`);
			if (this.#gone) this.#reset();
			// What was removed is told again, but not without end in one round.
			for (let i = 0; i < 3; i++) if (await this.#tellNews()) break;
			this.#lastFailure = '';
		} catch (error) {
			this.#fail(Failure.from(error, `Cannot follow ${this.folder}`));
		}
	}

	/** @returns false when what was told no longer holds: it was reset and is to be told again */
	async #tellNews(): Promise<boolean> {
		if (!this.#told) await this.#tellOverview();
		const news = await this.#run.metricSources.read();
		// What comes next may fail: the news is told at the next look then.
		this.#untold.from = Math.min(this.#untold.from, news.from);
		if (this.disposed) return true;
		if (news.reset && this.#told) {
			this.#reset();
			return false;
		}
		const continued = await this.#lookForRollouts();
		if (this.disposed) return true;
		if (!continued) {
			this.#reset();
			return false;
		}
		await this.#tellRecord();
		if (this.disposed) return true;
		// Others may have read before.
		const from = this.#told ? this.#untold.from : Number.NEGATIVE_INFINITY;
		this.#told = true;
		if (from !== Number.POSITIVE_INFINITY) {
			for (const lines of this.#run.metricSources.lines(from)) {
				this.#fire({ kind: 'metrics', lines });
				await new Promise((resolve) => setImmediate(resolve));
				if (this.disposed) return true;
			}
		}
		const steps = [...this.#untold.steps].sort((a, b) => a - b);
		this.#untold = { from: Number.POSITIVE_INFINITY, steps: new Set() };
		if (steps.length > 0) this.#fire({ kind: 'rollouts', steps });
		this.#fire({ kind: 'synced' });
		return true;
	}

	/** Long files are read in some time: what the run looks like is told before. */
	async #tellOverview(): Promise<void> {
		const lines = await this.#run.metricSources.overview(this.#overview).catch(() => null);
		if (lines === null || this.disposed) return;
		await this.#tellRecord();
		this.#fire({ kind: 'overview', lines });
	}

	async #tellRecord(): Promise<void> {
		const record = await this.#run.record();
		const text = JSON.stringify({ ...record, heartbeat: 0, updated: 0 });
		if (text === this.#record || this.disposed) return;
		this.#record = text;
		this.#fire({ kind: 'record', record, status: record.status });
	}

	/** Finds steps whose rollouts are new or more than before. @returns false: some are gone, or their files are others */
	async #lookForRollouts(): Promise<boolean> {
		const steps = await this.#run.steps('train');
		const now = new Set(steps);
		for (const step of this.#steps.keys()) if (!now.has(step)) return false;
		const fresh = steps.filter((step) => !this.#steps.has(step));
		for (const step of fresh) {
			this.#steps.set(step, null);
			this.#untold.steps.add(step);
		}
		for (const step of this.#stepsToLookAt(steps)) {
			const files = await this.#run.stepFiles(step, 'train');
			const before = this.#steps.get(step) ?? null;
			this.#steps.set(step, files);
			if (this.disposed) break;
			if (before === null) continue;
			const difference = await differenceOf(before, files);
			if (difference === 'other') return false;
			if (difference === 'more') this.#untold.steps.add(step);
		}
		return true;
	}

	#stepsToLookAt(steps: readonly number[]): Set<number> {
		const looked = new Set(steps.slice(-newestSteps));
		for (let i = 0; i < Math.min(othersARound, steps.length); i++) {
			looked.add(steps[(this.#turn + i) % steps.length] as number);
		}
		this.#turn = steps.length === 0 ? 0 : (this.#turn + othersARound) % steps.length;
		return looked;
	}

	#fail(failure: Failure): void {
		this.#gone = failure.reason === 'missing';
		const key = `${failure.reason} ${failure.message}`;
		if (key === this.#lastFailure) return;
		this.#lastFailure = key;
		this.#fire({ kind: 'error', failure });
	}

	#reset(): void {
		this.#gone = false;
		this.#run = new ForeignRun(this.folder, this.#format, { live: true });
		this.#record = '';
		this.#told = false;
		this.#untold = { from: Number.POSITIVE_INFINITY, steps: new Set() };
		this.#steps.clear();
		this.#turn = 0;
		this.#fire({ kind: 'reset' });
	}

	#fire(event: RunTailEvent): void {
		if (!this.disposed) this.#emitter.fire(event);
	}
}
