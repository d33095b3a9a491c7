import { realpath } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { Emitter } from '../base/event.ts';
import { isInside } from '../files/isInside.ts';

const memoryKey = 'reasoningLab.ownRuns';
/** Maximum number of remembered folders outside the workspace; the newest ones are kept. */
const maxRemembered = 500;

/**
 * Determines the runs that belong to this window: those inside a workspace folder, and those started or opened in this
 * workspace, regardless of location. A window without a folder has no scope, so every run belongs to it.
 */
export class RunScope extends Disposable {
	readonly #memory: vscode.Memento;
	readonly #changed = this.register(new Emitter<void>());
	readonly #adopted: Set<string>;
	/** Real paths of the workspace folders and their `runs` folders, because runs are listed by their real paths. */
	#roots: readonly string[] = workspaceRoots();
	#resolving: Promise<void> | null = null;
	/** Fires when runs may have entered or left the scope. */
	readonly onDidChange = this.#changed.event;

	constructor(memory: vscode.Memento) {
		super();
		this.#memory = memory;
		const stored: unknown = memory.get(memoryKey);
		const folders = Array.isArray(stored) ? stored.filter((path) => typeof path === 'string' && isAbsolute(path)) : [];
		this.#adopted = new Set(folders);
		this.register(
			vscode.workspace.onDidChangeWorkspaceFolders(() => {
				this.#roots = workspaceRoots();
				this.#resolving = null;
				void this.ready().then(() => this.#changed.fire());
			}),
		);
	}

	/** Resolves once symbolic links in the paths of the workspace folders are resolved. */
	ready(): Promise<void> {
		const resolved = async () => {
			// `runs` is often a symbolic link to a larger disk.
			const places = workspaceRoots().flatMap((root) => [root, join(root, 'runs')]);
			this.#roots = await Promise.all(places.map((place) => realpath(place).catch(() => place)));
		};
		this.#resolving ??= resolved();
		return this.#resolving;
	}

	/** Whether a run, a pipeline, or a folder in one belongs to this window. */
	includes(folder: string): boolean {
		if (this.#roots.length === 0) return true;
		return [...this.#roots, ...this.#adopted].some((root) => isInside(folder, root));
	}

	/** Adds a folder outside the workspace, which stays in scope when the workspace is reopened. */
	adopt(folder: string): void {
		if (this.includes(folder)) return;
		this.#adopted.add(folder);
		void this.#memory.update(memoryKey, [...this.#adopted].slice(-maxRemembered));
		this.#changed.fire();
	}
}

function workspaceRoots(): string[] {
	return (vscode.workspace.workspaceFolders ?? [])
		.filter(({ uri }) => uri.scheme === 'file')
		.map(({ uri }) => uri.fsPath);
}
