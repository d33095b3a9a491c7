import { realpath } from 'node:fs/promises';
import * as vscode from 'vscode';
import { Disposable, type IDisposable } from '../base/disposable.ts';
import { Emitter } from '../base/event.ts';
import { runFiles } from '../runs/runFiles.ts';
import { findRuns, type RunRegistry } from '../runs/runRegistry.ts';
import type { RunSource } from './runStore.ts';

/** Runs that this user's programs have started or opened, wherever they lie. */
export class RegisteredRuns implements RunSource {
	readonly #registry: RunRegistry;

	constructor(registry: RunRegistry) {
		this.#registry = registry;
	}

	async list(): Promise<readonly string[]> {
		const [own, foreign] = await Promise.all([this.#registry.list(), this.#registry.listForeign()]);
		return [...own, ...foreign];
	}

	/** What other programs register is found by the store's regular look. */
	onDidChange(): IDisposable {
		return { dispose() {} };
	}
}

/** A search may take this share of the time at most. */
const searchShare = 0.01;
const shortestPauseMs = 4000;

/**
 * Run folders in `runs/` of the workspace's folders. File events tell of new ones at once; as they are not certain, the
 * folders are searched again now and then, the more rarely the longer a search takes.
 */
export class WorkspaceRuns extends Disposable implements RunSource {
	readonly #changed = this.register(new Emitter<void>());
	#search: Promise<Set<string>> | null = null;
	#searchAgainAt = 0;
	#watched = false;

	/** Not before the first list: a watcher takes milliseconds that activation has not got. */
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

	/** Searches all folders again at the next look. */
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
			// The registry knows real paths; a run must not be listed under two names.
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
