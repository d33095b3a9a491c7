import { stat } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import type { Emitter } from '../base/event.ts';
import { isInside } from '../files/isInside.ts';
import { ownFormat } from '../runs/annotationFolder.ts';
import type { FoundRun } from '../runs/runsBelow.ts';
import type { CommandResult } from './commandTable.ts';
import { commandIds, contextKeys, viewIds } from './ids.ts';
import { Refresher } from './refresher.ts';
import { type RowOpener, registerRowCommand, rowCommand } from './rowCommand.ts';
import { displayText } from './runView.ts';
import { rowTooltip, type TooltipRow, treeRowItem } from './treeRow.ts';

/** Maximum fraction of time spent searching. */
const searchShare = 0.01;
const shortestPauseMs = 30_000;
const longestPauseMs = 600_000;
/** Maximum time to search a workspace folder, in milliseconds. */
const longestMs = 5000;

interface Needs {
	/** Fires when a command has completed. *Refresh Runs* starts a search. */
	readonly onDidComplete: Emitter<CommandResult>['event'];
	readonly log: (message: string) => void;
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
	readonly #search = this.register(
		new Refresher(
			() => this.#find(),
			(tookMs) => Math.min(Math.max(shortestPauseMs, tookMs / searchShare), longestPauseMs),
		),
	);
	#runs: ReadonlyMap<string, FoundRow> = new Map();
	/** null before the first search. */
	#hasRuns: boolean | null = null;

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
		if (row === undefined) return null;
		return { command: commandIds.openAsRun, title: 'Open as Run', arguments: [folder, row.format] };
	}

	/** Searches the workspace folders, and resolves once what was there at the time of the call is listed. */
	search(): Promise<void> {
		return this.#search.refresh();
	}

	async #find(): Promise<void> {
		try {
			await this.#findIn(vscode.workspace.workspaceFolders ?? []);
		} catch (error) {
			if (!this.disposed) this.#needs.log(`Failed to search for runs: ${String(error)}`);
		}
	}

	async #findIn(folders: readonly vscode.WorkspaceFolder[]): Promise<void> {
		// Loaded late, because recognizing runs requires the code of all formats.
		const [{ runsBelow }, { RunRegistry }] = await Promise.all([
			import('../runs/runsBelow.ts'),
			import('../runs/runRegistry.ts'),
		]);
		const roots = folders.filter(({ uri }) => uri.scheme === 'file');
		const stopped = () => this.disposed;
		const signal = {
			get aborted() {
				return stopped();
			},
		};
		const registry = new RunRegistry();
		const runs = new Map<string, FoundRow>();
		let searched = 0;
		let cut = false;
		for (const { uri, name } of roots) {
			const root = uri.fsPath;
			const found = await runsBelow(root, { chosen: false, millis: longestMs }, signal);
			searched += found.folders;
			cut ||= found.cut;
			for (const run of found.runs) {
				const [likely] = run.formats;
				if (likely === undefined || likely.name === ownFormat) continue;
				const chosen = await registry.readerOf(run.folder);
				const format = run.formats.find((one) => one.name === chosen) ?? likely;
				runs.set(run.folder, { ...presentFound(run, root, name, roots.length > 1), format: format.name });
			}
			// How far a search gets depends on how busy the machine is.
			if (found.cut) {
				for (const [folder, row] of this.#runs) {
					const missed = isInside(folder, root) && !runs.has(folder);
					if (missed && (await stat(folder).catch(() => null)) !== null) runs.set(folder, row);
				}
			}
		}
		if (!this.disposed) this.#show(runs, cut ? searched : null);
	}

	/** @param cutAfter number of folders after which the search stopped; null if it was complete */
	#show(runs: ReadonlyMap<string, FoundRow>, cutAfter: number | null): void {
		const message =
			cutAfter === null
				? ''
				: `The search stopped after ${cutAfter} folders. To open other runs, right-click a folder and choose "Open as Run".`;
		if ((this.#view.message ?? '') !== message) this.#view.message = message;
		if (this.#hasRuns !== runs.size > 0) {
			this.#hasRuns = runs.size > 0;
			void vscode.commands.executeCommand('setContext', contextKeys.hasFoundRuns, this.#hasRuns);
		}
		const state = (rows: typeof runs) => JSON.stringify([...rows]);
		if (state(runs) === state(this.#runs)) return;
		this.#runs = runs;
		this.#changed.fire(undefined);
	}
}

interface FoundRow extends TooltipRow {
	/** Name of the reader that a click uses: the one the user chose, or the most likely one. */
	readonly format: string;
}

/** Maximum length of a label, of which the end is kept, because it distinguishes runs. */
const longestLabel = 120;

/** @param manyRoots whether to name the workspace folder, because there are several */
function presentFound({ folder, formats }: FoundRun, root: string, rootName: string, manyRoots: boolean): TooltipRow {
	const inner = relative(root, folder).replaceAll(sep, '/');
	const path = inner === '' ? rootName : manyRoots ? `${rootName}/${inner}` : inner;
	const label = displayText(path.length > longestLabel ? `…${path.slice(1 - longestLabel)}` : path);
	const titles = formats.map(({ title }) => title).join(' or ');
	return {
		label,
		description: titles,
		icon: { id: 'book', color: null },
		contextValue: '',
		spoken: `${label}, ${titles}`,
		tooltip: [
			['Trainer', titles],
			['Folder', displayText(folder, 1000)],
		],
	};
}
