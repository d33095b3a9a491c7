import { lstat, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { deferred } from '../base/async.ts';
import { Disposable, type IDisposable, toDisposable } from '../base/disposable.ts';
import { Emitter } from '../base/event.ts';
import { Failure } from '../base/failure.ts';
import { runFiles } from '../runs/runFiles.ts';
import { isForeign, isLive, type RunView, sameView } from './runView.ts';
import { RunWatch } from './runWatch.ts';

/** A source of run folders: the registry or the workspace. */
export interface RunSource {
	/** Returns absolute paths, which may include deleted folders. */
	list(): Promise<readonly string[]>;
	/** Fires when folders may have been added or removed. */
	onDidChange(listener: () => void): IDisposable;
}

/** Decides which runs belong to the window. */
export interface StoreScope {
	/** Resolves once `includes` is reliable. */
	ready(): Promise<void>;
	includes(folder: string): boolean;
	/** Adds a folder to the scope. */
	adopt(folder: string): void;
	onDidChange(listener: () => void): IDisposable;
}

const everything: StoreScope = {
	ready: async () => undefined,
	includes: () => true,
	adopt() {},
	onDidChange: () => ({ dispose() {} }),
};

interface Entry {
	view: RunView;
	/** Stamp of run.json; a finished run is reread only if it changes. */
	stamp: string;
	watch: RunWatch | null;
	/** For a run from another trainer: time of the next read, in milliseconds of `performance.now()`. */
	again: number;
}

/** How often to check whether finished runs were resumed or runs were started elsewhere, in milliseconds. */
const sweepMs = 5000;
/** Minimum interval between change events, in milliseconds. */
const quietMs = 500;
/** Intervals for rereading runs from other trainers, depending on whether they are being written, in milliseconds. */
const foreignMs = { running: 5000, other: 30_000 } as const;
/** Minimum ratio of idle time to read time for runs from other trainers, which limits reading to 5% of the time. */
const foreignRest = 20;
/** Number of folders checked concurrently. */
const together = 16;

/**
 * All known runs as snapshots, newest first. Live runs are followed; a finished run requires only one `stat` every few
 * seconds. No engine is required: after a reload, runs are rediscovered from their folders.
 */
export class RunStore extends Disposable {
	readonly #sources: readonly RunSource[];
	readonly #scope: StoreScope;
	readonly #entries = new Map<string, Entry>();
	/** Folders announced by a command before any source lists them. */
	readonly #expected = new Set<string>();
	readonly #changed: Emitter<void>;
	readonly #ready = deferred<void>();
	/** Folders that are not runs, and when this cached result expires. */
	readonly #noRunsUntil = new Map<string, number>();
	/** Folders of runs that commands have referred to since the window was opened. */
	readonly #named = new Set<string>();
	#runs: readonly RunView[] = [];
	#own: readonly RunView[] | null = null;
	#sweep: Promise<void> | null = null;
	#sweepAgain = false;
	#sweepTimer: NodeJS.Timeout | null = null;
	#reportTimer: NodeJS.Timeout | null = null;
	#reportedAt = 0;

	/** @param scope decides which runs are `own`; by default, all of them */
	constructor(sources: readonly RunSource[], onError: (error: unknown) => void, scope: StoreScope = everything) {
		super();
		this.#sources = sources;
		this.#scope = scope;
		this.#changed = this.register(new Emitter<void>(onError));
		for (const source of sources) this.register(source.onDidChange(() => void this.refresh()));
		this.register(scope.onDidChange(() => this.#changedSoon()));
		this.register(
			toDisposable(() => {
				for (const timer of [this.#sweepTimer, this.#reportTimer]) if (timer !== null) clearTimeout(timer);
				for (const entry of this.#entries.values()) entry.watch?.dispose();
			}),
		);
	}

	/** Fires when the list or a snapshot changes, at most twice a second. */
	get onDidChange() {
		return this.#changed.event;
	}

	/** Resolves once all sources have been read for the first time. */
	get ready(): Promise<void> {
		return this.#ready.promise;
	}

	/** All known runs, newest first. */
	get runs(): readonly RunView[] {
		return this.#runs;
	}

	/**
	 * The runs that belong to the window, newest first. Notifications, the status bar and pickers show only these.
	 */
	get own(): readonly RunView[] {
		this.#own ??= this.#runs.filter(({ folder }) => this.#scope.includes(folder));
		return this.#own;
	}

	/** The window's runs and those that commands have referred to since it was opened, newest first. */
	get inUse(): readonly RunView[] {
		return this.#runs.filter(({ folder }) => this.#named.has(folder) || this.#scope.includes(folder));
	}

	/** Whether the run or pipeline in a folder belongs to the window. */
	isOwn(folder: string): boolean {
		return this.#scope.includes(resolve(folder));
	}

	/** Makes a run or a pipeline belong to the window, because the user started or opened it here. */
	async adopt(folder: string): Promise<void> {
		this.#scope.adopt(await realpath(folder).catch(() => resolve(folder)));
	}

	get(folder: string): RunView | undefined {
		return this.#entries.get(resolve(folder))?.view;
	}

	/** Returns the run in a folder. Fails if there is none. */
	async require(folder: string): Promise<RunView> {
		const known = this.get(folder);
		if (known !== undefined) {
			this.use(known.folder);
			return known;
		}
		const view = this.get(await this.expect(folder));
		if (view === undefined)
			throw new Failure(
				'missing',
				`${folder} is not a run folder.`,
				'Choose a folder that contains run.json, or add the run first.',
			);
		this.use(view.folder);
		return view;
	}

	/** Adds a run to `inUse`, because a command refers to it. */
	use(folder: string): void {
		if (this.#named.has(folder)) return;
		this.#named.add(folder);
		if (!this.#scope.includes(folder)) this.#changedSoon();
	}

	/** Starts reading the sources; called once after activation. */
	start(): void {
		void this.refresh();
	}

	/** Adds a folder that no source lists yet. @returns the real path that the run is listed under */
	async expect(folder: string): Promise<string> {
		const real = await realpath(folder).catch(() => resolve(folder));
		this.#expected.add(real);
		this.#noRunsUntil.delete(real);
		await this.refresh();
		return real;
	}

	/** Removes a folder announced by a command. */
	forget(folder: string): void {
		this.#expected.delete(resolve(folder));
	}

	/** Rescans everything and resolves once everything on disk at the time of the call is in `runs`. */
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

	/** Rereads a run immediately after an action on it. */
	async reload(folder: string): Promise<void> {
		const entry = this.#entries.get(resolve(folder));
		if (entry !== undefined) this.#take(resolve(folder), await load(folder), entry.stamp);
	}

	async #look(): Promise<void> {
		await this.#scope.ready();
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

	/** @returns whether the folder contains a run */
	async #lookAt(folder: string): Promise<boolean> {
		const stat = await lstat(join(folder, runFiles.record)).catch(() => null);
		if (stat === null) return this.#lookAtForeign(folder);
		const person = await lstat(join(folder, runFiles.person)).catch(() => null);
		const stamp = `${stat.mtimeMs} ${stat.size} ${stat.ino} ${person?.mtimeMs ?? 0}`;
		const entry = this.#entries.get(folder);
		// Live runs have their own watch.
		if (entry !== undefined && entry.stamp === stamp && !isLive(entry.view)) return true;
		if (entry?.watch) {
			entry.watch.stir();
			return true;
		}
		this.#take(folder, await load(folder), stamp);
		return true;
	}

	/** Checks a folder without run.json, which may be a run from another trainer. */
	async #lookAtForeign(folder: string): Promise<boolean> {
		const now = performance.now();
		const entry = this.#entries.get(folder);
		const there = (await lstat(folder).catch(() => null))?.isDirectory() ?? false;
		if (!there) return false;
		if (entry !== undefined && isForeign(entry.view) && now < entry.again) return true;
		if (now < (this.#noRunsUntil.get(folder) ?? 0)) return false;
		const view = await load(folder);
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
			entry.watch ??= new RunWatch(view, load, (next) => this.#take(folder, next, entry.stamp));
		} else {
			entry.watch?.dispose();
			entry.watch = null;
		}
		if (changed) this.#changedSoon();
	}

	#changedSoon(): void {
		this.#own = null;
		this.#runs = [...this.#entries.values()]
			.map((entry) => entry.view)
			.sort((a, b) => (b.record?.created ?? 0) - (a.record?.created ?? 0) || (a.folder < b.folder ? -1 : 1));
		if (this.#reportTimer !== null) return;
		this.#reportTimer = setTimeout(
			() => {
				this.#reportTimer = null;
				this.#reportedAt = Date.now();
				this.#changed.fire();
			},
			Math.max(0, quietMs - (Date.now() - this.#reportedAt)),
		);
	}
}

/** Reads a run. The code that reads run folders is loaded on first use, to keep activation fast. */
async function load(folder: string): Promise<RunView> {
	const { loadRun } = await import('./runLoader.ts');
	return loadRun(folder);
}
