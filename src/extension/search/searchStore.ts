import { lstat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { runFiles } from '../../runs/runFiles.ts';
import { readSearchSummary, type SearchSummary, searchLogEnding, searchLogsIn } from '../../runs/searchLog.ts';
import { Refresher } from '../refresher.ts';
import type { RunStore } from '../runStore.ts';
import type { WindowSearches } from './windowSearches.ts';

/** Search state shown in the *Searches* view. */
export interface SearchView extends SearchSummary {
	readonly running: boolean;
	/** Folder of the run that the policy comes from, or null if it does not come from a run. */
	readonly run: string | null;
}

/** Refresh intervals while the view is visible, in milliseconds. The shorter one applies while a search is running. */
const lookMs = { idle: 6000, running: 1000 } as const;
/** Maximum number of logs listed, newest first. */
const maxSearches = 500;

interface Known {
	readonly stamp: string;
	readonly view: SearchView | null;
}

/** Search logs in the workspace and its runs, newest first. Changed logs are reread. */
export class SearchStore extends Disposable {
	readonly #searches: WindowSearches;
	readonly #runs: RunStore;
	readonly #changed = this.register(new Emitter<void>());
	readonly #known = new Map<string, Known>();
	readonly onDidChange = this.#changed.event;
	readonly #refresher = this.register(
		new Refresher(
			() => this.#look(),
			() => this.#pauseMs(),
		),
	);
	#views: readonly SearchView[] = [];
	#shown = '';
	#watched = false;

	constructor(searches: WindowSearches, runs: RunStore) {
		super();
		this.#searches = searches;
		this.#runs = runs;
		const look = () => void this.refresh();
		this.register(searches.onChanged(look));
		const watcher = this.register(
			vscode.workspace.createFileSystemWatcher(`**/*${searchLogEnding}`, false, true, false),
		);
		const mine = (uri: vscode.Uri) => {
			if (this.#folders().some(({ folder }) => uri.fsPath.startsWith(folder))) look();
		};
		this.register(watcher.onDidCreate(mine));
		this.register(watcher.onDidDelete(mine));
		this.register(vscode.workspace.onDidChangeWorkspaceFolders(look));
	}

	/** Newest first. */
	get searches(): readonly SearchView[] {
		return this.#views;
	}

	get(log: string): SearchView | undefined {
		return this.#views.find((view) => view.log === log);
	}

	get watched(): boolean {
		return this.#watched;
	}

	/** Whether the list is visible. The list is refreshed periodically only while it is visible. */
	set watched(watched: boolean) {
		this.#watched = watched;
		if (watched) void this.refresh();
	}

	/** Rescans the disk. Resolves once `searches` reflects all changes made before the call. */
	refresh(): Promise<void> {
		return this.#refresher.refresh();
	}

	#pauseMs(): number | null {
		if (!this.#watched) return null;
		return this.#views.some(({ running }) => running) ? lookMs.running : lookMs.idle;
	}

	#folders(): { folder: string; run: string | null }[] {
		return [
			...this.#searches.searchFolders().map((folder) => ({ folder, run: null })),
			...this.#runs.inUse.map(({ folder }) => ({ folder: join(folder, runFiles.searches), run: folder })),
		];
	}

	async #look(): Promise<void> {
		await this.#runs.ready;
		const found: { log: string; run: string | null }[] = [];
		for (const { folder, run } of this.#folders()) {
			for (const log of await searchLogsIn(folder, maxSearches)) found.push({ log, run });
		}
		found.sort((a, b) => (basename(a.log) < basename(b.log) ? 1 : -1));
		const views: SearchView[] = [];
		const there = new Set<string>();
		for (const { log, run } of found.slice(0, maxSearches)) {
			there.add(log);
			const view = await this.#read(log, run);
			if (view !== null) views.push(view);
		}
		for (const log of this.#known.keys()) if (!there.has(log)) this.#known.delete(log);
		views.sort((a, b) => b.changed - a.changed);
		this.#views = views;
		const shown = JSON.stringify(views.map(({ log, changed, bytes, running }) => [log, changed, bytes, running]));
		if (shown === this.#shown || this.disposed) return;
		this.#shown = shown;
		this.#changed.fire();
	}

	async #read(log: string, run: string | null): Promise<SearchView | null> {
		const info = await lstat(log).catch(() => null);
		if (info === null) return null;
		const stamp = `${info.size} ${info.mtimeMs} ${info.ino}`;
		const known = this.#known.get(log);
		if (known !== undefined && known.stamp === stamp) {
			if (known.view === null) return null;
			// A log with an end record is final. Without one, the search is either running or was interrupted.
			const running =
				this.#searches.running.has(log) || (known.view.end === null && (await this.#searches.isRunning(log)));
			return { ...known.view, running };
		}
		const summary = await readSearchSummary(log).catch(() => null);
		const view = summary === null ? null : { ...summary, run, running: await this.#searches.isRunning(log) };
		this.#known.set(log, { stamp, view });
		return view;
	}
}
