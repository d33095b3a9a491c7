import { lstat, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { deferred } from '../base/async.ts';
import { Disposable, type IDisposable, toDisposable } from '../base/disposable.ts';
import { Emitter } from '../base/event.ts';
import { Failure } from '../base/failure.ts';
import { runFiles } from '../runs/runFiles.ts';
import { loadRun, sameView } from './runLoader.ts';
import { isForeign, isLive, type RunView } from './runView.ts';
import { RunWatch } from './runWatch.ts';

/** Where run folders are known from: the registry, the workspace. */
export interface RunSource {
	/** Absolute folders; some may be gone. */
	list(): Promise<readonly string[]>;
	/** Folders may have come or gone. */
	onDidChange(listener: () => void): IDisposable;
}

interface Entry {
	view: RunView;
	/** Of run.json, so that an ended run is read again only when it changed. */
	stamp: string;
	watch: RunWatch | null;
	/** Of another trainer's run: when it is read again, in milliseconds of `performance.now()`. */
	again: number;
}

/** How often ended runs are inspected for a resume, and the sources for runs that were started elsewhere. */
const sweepMs = 5000;
/** Listeners hear of changes at most this often. */
const quietMs = 500;
/** Another trainer's run that is being written is read again after so long, one that is not after the longer time. */
const foreignMs = { running: 5000, other: 30_000 } as const;
/** Reading such a run takes 5% of the time at most. */
const foreignRest = 20;
/** Folders that are inspected together. */
const together = 16;

/**
 * All known runs, newest first, as snapshots. A live run is followed; an ended one costs a `stat` every few seconds.
 * Nothing here needs an engine: after a reload the runs are found again by their folders.
 */
export class RunStore extends Disposable {
	readonly #sources: readonly RunSource[];
	readonly #entries = new Map<string, Entry>();
	/** Told of by a command before any source knows it. */
	readonly #expected = new Set<string>();
	readonly #changed: Emitter<void>;
	readonly #ready = deferred<void>();
	/** Folders that turned out to be no runs, and until when that is believed. */
	readonly #noRunsUntil = new Map<string, number>();
	#runs: readonly RunView[] = [];
	#sweep: Promise<void> | null = null;
	#sweepAgain = false;
	#sweepTimer: NodeJS.Timeout | null = null;
	#tellTimer: NodeJS.Timeout | null = null;
	#told = 0;

	constructor(sources: readonly RunSource[], onError: (error: unknown) => void) {
		super();
		this.#sources = sources;
		this.#changed = this.register(new Emitter<void>(onError));
		for (const source of sources) this.register(source.onDidChange(() => void this.refresh()));
		this.register(
			toDisposable(() => {
				for (const timer of [this.#sweepTimer, this.#tellTimer]) if (timer !== null) clearTimeout(timer);
				for (const entry of this.#entries.values()) entry.watch?.dispose();
			}),
		);
	}

	/** The list or a snapshot in it is new; at most twice a second. */
	get onDidChange() {
		return this.#changed.event;
	}

	/** Resolves once the first look at all sources is done. */
	get ready(): Promise<void> {
		return this.#ready.promise;
	}

	/** Newest first. */
	get runs(): readonly RunView[] {
		return this.#runs;
	}

	get(folder: string): RunView | undefined {
		return this.#entries.get(resolve(folder))?.view;
	}

	/** The run in a folder that a caller names; fails when there is none. */
	async require(folder: string): Promise<RunView> {
		const known = this.get(folder);
		if (known !== undefined) return known;
		const view = this.get(await this.expect(folder));
		if (view === undefined)
			throw new Failure('missing', `${folder} is not a run folder.`, 'Choose one with a run.json, or add it first.');
		return view;
	}

	/** Begins to look; called once, after activation. */
	start(): void {
		void this.refresh();
	}

	/** Takes in a folder that no source knows yet. @returns its real path, under which the run is listed */
	async expect(folder: string): Promise<string> {
		const real = await realpath(folder).catch(() => resolve(folder));
		this.#expected.add(real);
		this.#noRunsUntil.delete(real);
		await this.refresh();
		return real;
	}

	/** A folder that was told of by a command is no longer expected. */
	forget(folder: string): void {
		this.#expected.delete(resolve(folder));
	}

	/** Looks at everything again; resolves when what was on disk at the call is in `runs`. */
	async refresh(): Promise<void> {
		if (this.disposed) return;
		if (this.#sweep !== null) {
			this.#sweepAgain = true;
			await this.#sweep;
			if (this.#sweep !== null) await this.#sweep;
			return;
		}
		this.#sweepAgain = false;
		if (this.#sweepTimer !== null) clearTimeout(this.#sweepTimer);
		this.#sweep = this.#look().finally(() => {
			this.#sweep = null;
			this.#ready.resolve();
			if (this.disposed) return;
			if (this.#sweepAgain) void this.refresh();
			else this.#sweepTimer = setTimeout(() => void this.refresh(), sweepMs);
		});
		await this.#sweep;
	}

	/** Reads one run again at once, after an action on it. */
	async reload(folder: string): Promise<void> {
		const entry = this.#entries.get(resolve(folder));
		if (entry !== undefined) this.#take(resolve(folder), await loadRun(folder), entry.stamp);
	}

	async #look(): Promise<void> {
		const lists = await Promise.all(this.#sources.map((source) => source.list().catch(() => [])));
		const folders = [...new Set([...lists.flat().map((folder) => resolve(folder)), ...this.#expected])];
		const found = new Set<string>();
		for (let i = 0; i < folders.length && !this.disposed; i += together) {
			await Promise.all(
				folders.slice(i, i + together).map(async (folder) => {
					if (await this.#lookAt(folder)) found.add(folder);
				}),
			);
		}
		if (this.disposed) return;
		for (const [folder, entry] of this.#entries) {
			if (found.has(folder)) continue;
			entry.watch?.dispose();
			this.#entries.delete(folder);
			this.#changedSoon();
		}
	}

	/** @returns whether there is a run */
	async #lookAt(folder: string): Promise<boolean> {
		const stat = await lstat(join(folder, runFiles.record)).catch(() => null);
		if (stat === null) return this.#lookAtForeign(folder);
		const person = await lstat(join(folder, runFiles.person)).catch(() => null);
		const stamp = `${stat.mtimeMs} ${stat.size} ${stat.ino} ${person?.mtimeMs ?? 0}`;
		const entry = this.#entries.get(folder);
		// A live run is followed by its own watch.
		if (entry !== undefined && entry.stamp === stamp && !isLive(entry.view)) return true;
		if (entry?.watch) {
			entry.watch.stir();
			return true;
		}
		this.#take(folder, await loadRun(folder), stamp);
		return true;
	}

	/** A folder without run.json: another trainer's run, or none. */
	async #lookAtForeign(folder: string): Promise<boolean> {
		const now = performance.now();
		const entry = this.#entries.get(folder);
		const there = (await lstat(folder).catch(() => null))?.isDirectory() ?? false;
		if (!there) return false;
		if (entry !== undefined && isForeign(entry.view) && now < entry.again) return true;
		if (now < (this.#noRunsUntil.get(folder) ?? 0)) return false;
		const view = await loadRun(folder);
		const rest = foreignRest * (performance.now() - now);
		if (!isForeign(view)) {
			this.#noRunsUntil.set(folder, performance.now() + Math.max(foreignMs.other, rest));
			return false;
		}
		this.#take(folder, view, '');
		const taken = this.#entries.get(folder);
		const pause = view.status === 'running' ? foreignMs.running : foreignMs.other;
		if (taken !== undefined) taken.again = performance.now() + Math.max(pause, rest);
		return true;
	}

	#take(folder: string, view: RunView, stamp: string): void {
		if (this.disposed) return;
		const entry = this.#entries.get(folder) ?? { view, stamp, watch: null, again: 0 };
		const isNew = !this.#entries.has(folder);
		const changed = isNew || !sameView(view, entry.view);
		this.#entries.set(folder, entry);
		entry.view = view;
		entry.stamp = stamp;
		if (isLive(view)) {
			entry.watch ??= new RunWatch(view, (next) => this.#take(folder, next, entry.stamp));
		} else {
			entry.watch?.dispose();
			entry.watch = null;
		}
		if (changed) this.#changedSoon();
	}

	#changedSoon(): void {
		this.#runs = [...this.#entries.values()]
			.map((entry) => entry.view)
			.sort((a, b) => (b.record?.created ?? 0) - (a.record?.created ?? 0) || (a.folder < b.folder ? -1 : 1));
		if (this.#tellTimer !== null) return;
		this.#tellTimer = setTimeout(
			() => {
				this.#tellTimer = null;
				this.#told = Date.now();
				this.#changed.fire();
			},
			Math.max(0, quietMs - (Date.now() - this.#told)),
		);
	}
}
