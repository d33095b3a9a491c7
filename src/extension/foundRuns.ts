import { basename, relative } from 'node:path';
import * as vscode from 'vscode';
import { Disposable, toDisposable } from '../base/disposable.ts';
import type { Emitter } from '../base/event.ts';
import { ownFormat } from '../runs/annotationFolder.ts';
import { type FoundRun, runsBelow } from '../runs/runsBelow.ts';
import type { CommandResult } from './commandTable.ts';
import { commandIds, contextKeys, viewIds } from './ids.ts';
import { type RowOpener, registerRowCommand, rowCommand } from './rowCommand.ts';
import { displayText } from './runView.ts';
import { rowTooltip, type TooltipRow, treeRowItem } from './treeRow.ts';

/** Maximum fraction of time spent searching. */
const searchShare = 0.01;
const shortestPauseMs = 30_000;
/** Maximum time to search a workspace folder, in milliseconds. */
const longestMs = 5000;

interface Needs {
	/** Fires when a command has completed. *Refresh Runs* starts a search. */
	readonly onDidComplete: Emitter<CommandResult>['event'];
	readonly log: (message: string) => void;
	/** Shortest time between two searches, in milliseconds. */
	readonly pauseMs?: number;
}

/**
 * The *Runs from Other Trainers* view in the Explorer: runs of all formats in the workspace folders, so that a click
 * opens one, whatever its files are called. The view is hidden as long as there are none. Rows are run folders. The
 * search is repeated, because trainers create runs at any time; the longer it takes, the less often.
 */
export class FoundRuns extends Disposable implements vscode.TreeDataProvider<string> {
	readonly #needs: Needs;
	readonly #changed = this.register(new vscode.EventEmitter<undefined>());
	readonly #view: vscode.TreeView<string>;
	readonly onDidChangeTreeData = this.#changed.event;
	#runs: ReadonlyMap<string, TooltipRow & { readonly format: string }> = new Map();
	#search: Promise<void> | null = null;
	#again = false;
	#timer: NodeJS.Timeout | null = null;

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.#view = this.register(vscode.window.createTreeView(viewIds.foundRuns, { treeDataProvider: this }));
		this.register(registerRowCommand('foundRuns', this.#view, (folder) => this.#openerOf(folder)));
		this.register(vscode.workspace.onDidChangeWorkspaceFolders(() => void this.search()));
		this.register(
			needs.onDidComplete(({ id }) => {
				if (id === commandIds.refreshRuns) void this.search();
			}),
		);
		this.register(
			toDisposable(() => {
				if (this.#timer !== null) clearTimeout(this.#timer);
			}),
		);
		void this.search();
	}

	getChildren(element?: string): string[] {
		return element === undefined ? [...this.#runs.keys()] : [];
	}

	getTreeItem(folder: string): vscode.TreeItem {
		const item = treeRowItem(folder, this.#runs.get(folder) ?? null);
		const opener = this.#openerOf(folder);
		if (opener !== null) item.command = rowCommand('foundRuns', opener);
		return item;
	}

	/** Creates tooltips on demand. */
	resolveTreeItem(item: vscode.TreeItem, folder: string): vscode.TreeItem {
		const row = this.#runs.get(folder);
		if (row !== undefined) item.tooltip = rowTooltip(row);
		return item;
	}

	#openerOf(folder: string): RowOpener | null {
		const row = this.#runs.get(folder);
		// The most likely reader is used. The Runs view and the context menu of the folder offer the others.
		if (row === undefined) return null;
		return { command: commandIds.openAsRun, title: 'Open as Run', arguments: [folder, row.format] };
	}

	/** Searches the workspace folders, and resolves once what was there at the time of the call is listed. */
	async search(): Promise<void> {
		if (this.disposed) return;
		if (this.#search !== null) {
			this.#again = true;
			return this.#search;
		}
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#search = this.#searches();
		await this.#search;
	}

	async #searches(): Promise<void> {
		const start = performance.now();
		do {
			this.#again = false;
			try {
				await this.#find();
			} catch (error) {
				if (!this.disposed) this.#needs.log(`Searching for runs: ${String(error)}`);
			}
		} while (this.#again && !this.disposed);
		this.#search = null;
		if (this.disposed) return;
		const pause = Math.max(this.#needs.pauseMs ?? shortestPauseMs, (performance.now() - start) / searchShare);
		this.#timer = setTimeout(() => void this.search(), pause);
	}

	async #find(): Promise<void> {
		const roots = (vscode.workspace.workspaceFolders ?? [])
			.filter(({ uri }) => uri.scheme === 'file')
			.map(({ uri }) => uri.fsPath);
		const stopped = () => this.disposed;
		const signal = {
			get aborted() {
				return stopped();
			},
		};
		const runs: [string, TooltipRow & { format: string }][] = [];
		let searched = 0;
		let cut = false;
		for (const root of roots) {
			const found = await runsBelow(root, { chosen: false, millis: longestMs }, signal);
			searched += found.folders;
			cut ||= found.cut;
			for (const run of found.runs) {
				const [format] = run.formats;
				if (format === undefined || format.name === ownFormat) continue;
				const shown = presentFound(run, root, roots.length > 1);
				runs.push([run.folder, { ...shown, format: format.name }]);
			}
		}
		const message = cut
			? `The search stopped after ${searched} folders. To open other runs, right-click a folder and choose "Open as Run".`
			: '';
		if ((this.#view.message ?? '') !== message) this.#view.message = message;
		const state = (rows: Iterable<[string, TooltipRow]>) =>
			JSON.stringify([...rows].map(([folder, { label, description }]) => [folder, label, description]));
		if (state(runs) === state(this.#runs)) return;
		if (runs.length > 0 !== this.#runs.size > 0) {
			void vscode.commands.executeCommand('setContext', contextKeys.hasFoundRuns, runs.length > 0);
		}
		this.#runs = new Map(runs);
		this.#changed.fire(undefined);
	}
}

/** @param manyRoots whether to name the workspace folder, because there are several */
function presentFound({ folder, formats }: FoundRun, root: string, manyRoots: boolean): TooltipRow {
	const inner = relative(root, folder);
	const path = inner === '' ? basename(root) : manyRoots ? `${basename(root)}/${inner}` : inner;
	const label = displayText(path);
	const titles = formats.map(({ title }) => title).join(' or ');
	return {
		label,
		description: titles,
		icon: { id: 'book', color: null },
		contextValue: '',
		spoken: `${label}, ${titles}`,
		tooltip: [
			['Trainer', titles],
			['Folder', folder],
		],
	};
}
