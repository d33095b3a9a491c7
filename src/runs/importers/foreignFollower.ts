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
	/** Polling interval for the files; default 1000. */
	readonly pollMs?: number;
	readonly overview?: LineOverviewOptions;
}

/**
 * Minimum wait after each check, as a multiple of the shorter of the last two checks. Limits the cost of large folders
 * to 5%, while a single long check, such as the first one, does not delay the next.
 */
const restFactor = 20;
/** Number of latest steps that are checked for more rollouts in every round; the others take turns. */
const newestSteps = 3;
const othersARound = 50;
/** Time for the other steps in a round, in milliseconds. If a round takes longer, the next one is delayed. */
const othersMs = 15;

/**
 * Follows another trainer's run by polling, since its files can be on any file system and never state that the run has
 * ended. Files that grow yield their new content; files that are rewritten, shortened or removed cause a reset.
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
	/** Duration of the previous check, in milliseconds. */
	#lastMs = 0;
	#started = false;
	#record = '';
	/** Maps each step to its files as last seen; null if not checked yet. */
	#steps = new Map<number, readonly FoundFile[] | null>();
	#turn = 0;
	/** Data read but not yet reported: metrics rows from this step onward, and steps with rollouts. */
	#unreported = { from: Number.POSITIVE_INFINITY, steps: new Set<number>() };
	#lastFailure = '';
	/** Whether anything has been reported since the last reset. */
	#reported = false;
	#gone = false;

	constructor(folder: string, format: RunFormat, { pollMs = 1000, overview = {} }: FollowOptions = {}) {
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
		const start = performance.now();
		const round = this.#look().finally(() => {
			this.#round = null;
			if (this.disposed) return;
			if (this.#again) void this.#begin();
			else if (this.#started) {
				const duration = performance.now() - start;
				const rest = restFactor * Math.min(duration, this.#lastMs);
				this.#lastMs = duration;
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
			// After removals, everything is reported again, but with a limited number of attempts per round.
			for (let i = 0; i < 3; i++) if (await this.#run.disk.snapshot(() => this.#reportNews())) break;
			this.#lastFailure = '';
		} catch (error) {
			this.#fail(Failure.from(error, `Cannot follow ${this.folder}`));
		}
	}

	/** @returns false if reported data is no longer valid: it was reset and must be reported again */
	async #reportNews(): Promise<boolean> {
		if (!this.#reported) await this.#reportOverview();
		const news = await this.#run.metricSources.read();
		// The next operation can fail; in that case, the changes are reported in the next round.
		this.#unreported.from = Math.min(this.#unreported.from, news.from);
		if (this.disposed) return true;
		if (news.reset && this.#reported) {
			this.#reset();
			return false;
		}
		const continued = await this.#lookForRollouts();
		if (this.disposed) return true;
		if (!continued) {
			this.#reset();
			return false;
		}
		await this.#reportRecord();
		if (this.disposed) return true;
		// Other callers might have read these rows earlier.
		const from = this.#reported ? this.#unreported.from : Number.NEGATIVE_INFINITY;
		this.#reported = true;
		if (from !== Number.POSITIVE_INFINITY) {
			for (const lines of this.#run.metricSources.lines(from)) {
				this.#fire({ kind: 'metrics', lines });
				await new Promise((resolve) => setImmediate(resolve));
				if (this.disposed) return true;
			}
		}
		const steps = [...this.#unreported.steps].sort((a, b) => a - b);
		this.#unreported = { from: Number.POSITIVE_INFINITY, steps: new Set() };
		if (steps.length > 0) this.#fire({ kind: 'rollouts', steps });
		this.#fire({ kind: 'synced' });
		return true;
	}

	/** Reading long files takes a while, so report an overview of the run first. */
	async #reportOverview(): Promise<void> {
		const lines = await this.#run.metricSources.overview(this.#overview).catch(() => null);
		if (lines === null || this.disposed) return;
		await this.#reportRecord();
		this.#fire({ kind: 'overview', lines });
	}

	async #reportRecord(): Promise<void> {
		const record = await this.#run.record();
		const text = JSON.stringify({ ...record, heartbeat: 0, updated: 0 });
		if (text === this.#record || this.disposed) return;
		this.#record = text;
		this.#fire({ kind: 'record', record, status: record.status });
	}

	/**
	 * Finds steps with new or additional rollouts.
	 * @returns false if some no longer exist or their files were replaced
	 */
	async #lookForRollouts(): Promise<boolean> {
		const steps = await this.#run.steps('train');
		const now = new Set(steps);
		for (const step of this.#steps.keys()) if (!now.has(step)) return false;
		const fresh = steps.filter((step) => !this.#steps.has(step));
		for (const step of fresh) {
			this.#steps.set(step, null);
			this.#unreported.steps.add(step);
		}
		for (const step of this.#stepsToLookAt(steps)) {
			if (this.disposed) break;
			const files = await this.#run.stepFiles(step, 'train');
			const before = this.#steps.get(step) ?? null;
			this.#steps.set(step, files);
			if (before === null) continue;
			const difference = await differenceOf(before, files);
			if (difference === 'other') return false;
			if (difference === 'more') this.#unreported.steps.add(step);
		}
		return true;
	}

	*#stepsToLookAt(steps: readonly number[]): Generator<number> {
		yield* steps.slice(-newestSteps);
		const others = steps.slice(0, -newestSteps);
		const until = performance.now() + othersMs;
		for (let i = 0; i < Math.min(othersARound, others.length); i++) {
			if (i > 0 && performance.now() >= until) break;
			this.#turn = (this.#turn + 1) % others.length;
			yield others[this.#turn] as number;
		}
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
		this.#reported = false;
		this.#unreported = { from: Number.POSITIVE_INFINITY, steps: new Set() };
		this.#steps.clear();
		this.#turn = 0;
		this.#fire({ kind: 'reset' });
	}

	#fire(event: RunTailEvent): void {
		if (!this.disposed) this.#emitter.fire(event);
	}
}
