import { realpath } from 'node:fs/promises';
import * as vscode from 'vscode';
import { Disposable, type IDisposable } from '../base/disposable.ts';
import { Emitter } from '../base/event.ts';
import { runFiles } from '../runs/runFiles.ts';
import { findRuns } from '../runs/runFolders.ts';
import type { RunRegistry } from '../runs/runRegistry.ts';
import type { RunSource } from './runStore.ts';

/** Runs that this user started or opened, from any process and in any folder. */
export class RegisteredRuns implements RunSource {
	readonly #registry: () => Promise<RunRegistry>;

	constructor(registry: () => Promise<RunRegistry>) {
		this.#registry = registry;
	}

	async list(): Promise<readonly string[]> {
		const registry = await this.#registry();
		const [own, foreign] = await Promise.all([registry.list(), registry.listForeign()]);
		return [...own, ...foreign];
	}

	/** Never fires, because runs registered by other processes are found by the store's periodic refresh. */
	onDidChange(): IDisposable {
		return { dispose() {} };
	}
}

/** Maximum fraction of time spent searching. */
const searchShare = 0.01;
const shortestPauseMs = 4000;

/**
 * Run folders in the `runs/` folders of the workspace. New runs are detected by file events. Because events are
 * unreliable, the folders are also searched periodically; the longer a search takes, the less often it is repeated.
 */
export class WorkspaceRuns extends Disposable implements RunSource {
	readonly #changed = this.register(new Emitter<void>());
	#search: Promise<Set<string>> | null = null;
	#searchAgainAt = 0;
	#watched = false;

	/** Starts watching after the first listing, because creating a watcher would slow down activation. */
	#watch(): void {
		if (this.#watched || this.disposed) return;
		this.#watched = true;
		const watcher = this.register(
			vscode.workspace.createFileSystemWatcher(`**/runs/*/${runFiles.record}`, false, true, false),
		);
		this.register(watcher.onDidCreate((uri) => void this.#found(vscode.Uri.joinPath(uri, '..').fsPath)));
		this.register(watcher.onDidDelete(() => this.#changed.fire()));
		this.register(vscode.workspace.onDidChangeWorkspaceFolders(() => this.rescan()));
	}

	onDidChange(listener: () => void): IDisposable {
		return this.#changed.event(listener);
	}

	async list(): Promise<readonly string[]> {
		this.#watch();
		if (Date.now() >= this.#searchAgainAt) this.#search = null;
		this.#search ??= this.#find();
		return [...(await this.#search)];
	}

	/** Requests a search of all folders at the next refresh. */
	rescan(): void {
		this.#search = null;
		this.#changed.fire();
	}

	async #find(): Promise<Set<string>> {
		const start = Date.now();
		this.#searchAgainAt = Number.POSITIVE_INFINITY;
		try {
			const roots = (vscode.workspace.workspaceFolders ?? [])
				.filter((folder) => folder.uri.scheme === 'file')
				.map((folder) => folder.uri.fsPath);
			// The registry contains real paths. Resolve symbolic links so that a run is not listed twice.
			const real = await Promise.all(roots.map((root) => realpath(root).catch(() => root)));
			return new Set(await findRuns(real));
		} finally {
			const now = Date.now();
			this.#searchAgainAt = now + Math.max(shortestPauseMs, (now - start) / searchShare);
		}
	}

	async #found(folder: string): Promise<void> {
		const real = await realpath(folder).catch(() => null);
		if (real === null || this.#search === null) return;
		(await this.#search).add(real);
		this.#changed.fire();
	}
}
