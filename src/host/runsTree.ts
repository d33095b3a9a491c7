import * as vscode from 'vscode';
import { Disposable, toDisposable } from '../base/disposable.ts';
import { commandIds, viewIds } from './ids.ts';
import { presentRun, type RunPresentation } from './runPresentation.ts';
import type { RunStore } from './runStore.ts';
import { isLive, nameOf, type RunView, sharedNames } from './runView.ts';
import { treeRowItem } from './treeRow.ts';

/** The *Runs* view: a native tree, newest run first. Its elements are run folders. */
export class RunsTree extends Disposable implements vscode.TreeDataProvider<string> {
	readonly #store: RunStore;
	readonly #view: vscode.TreeView<string>;
	readonly #changed = new vscode.EventEmitter<string[] | undefined>();
	readonly #shown = new Map<string, string>();
	#order: readonly string[] = [];
	#shared: ReadonlySet<string> = new Set();
	readonly onDidChangeTreeData = this.#changed.event;

	constructor(store: RunStore) {
		super();
		this.#store = store;
		this.register(this.#changed);
		this.#view = this.register(
			vscode.window.createTreeView(viewIds.runs, { treeDataProvider: this, canSelectMany: true }),
		);
		this.register(store.onDidChange(() => this.#update()));
		// Elapsed times move on between the steps.
		const clock = setInterval(() => {
			if (this.#view.visible && this.#store.runs.some(isLive)) this.#update();
		}, 1000);
		this.register(toDisposable(() => clearInterval(clock)));
	}

	/** Folders that are selected in the view. */
	get selection(): readonly string[] {
		return this.#view.selection;
	}

	/** Brings the view up with the run selected, as well as it can; the focus stays where it is. */
	async reveal(folder: string): Promise<void> {
		if (this.#store.get(folder) === undefined) return;
		this.#update();
		for (let attempt = 0; attempt < 5 && !this.disposed; attempt++) {
			try {
				return await this.#view.reveal(folder, { select: true, focus: false });
			} catch {
				// The editor takes a moment to read a list that has changed.
				await new Promise((resolve) => setTimeout(resolve, 250));
			}
		}
	}

	getChildren(element?: string): string[] {
		return element === undefined ? this.#store.runs.map((view) => view.folder) : [];
	}

	getParent(): undefined {
		return undefined;
	}

	getTreeItem(folder: string): vscode.TreeItem {
		const view = this.#store.get(folder);
		if (view === undefined) return new vscode.TreeItem(folder);
		const shown = this.#present(view, Date.now() / 1000);
		const item = treeRowItem(folder, shown);
		item.command = { command: commandIds.openDashboard, title: 'Open Dashboard', arguments: [folder] };
		return item;
	}

	/** Tooltips are made when they are asked for. */
	resolveTreeItem(item: vscode.TreeItem, folder: string): vscode.TreeItem {
		const view = this.#store.get(folder);
		if (view !== undefined) item.tooltip = tooltipOf(this.#present(view, Date.now() / 1000));
		return item;
	}

	/** Redraws the rows whose words changed, and the list only when runs came or went. */
	#update(): void {
		const now = Date.now() / 1000;
		this.#shared = sharedNames(this.#store.runs);
		const order = this.#store.runs.map((view) => view.folder);
		const changed = this.#store.runs.filter((view) => this.#remember(view, now)).map((view) => view.folder);
		const sameOrder = order.length === this.#order.length && order.every((folder, i) => folder === this.#order[i]);
		this.#order = order;
		if (!sameOrder) {
			for (const folder of this.#shown.keys()) if (this.#store.get(folder) === undefined) this.#shown.delete(folder);
			this.#changed.fire(undefined);
		} else if (changed.length > 0) {
			this.#changed.fire(changed);
		}
	}

	#present(view: RunView, now: number): RunPresentation {
		return presentRun(view, now, this.#shared.has(nameOf(view)));
	}

	#remember(view: RunView, now: number): boolean {
		const { label, description, icon, contextValue } = this.#present(view, now);
		const words = JSON.stringify([label, description, icon, contextValue]);
		if (this.#shown.get(view.folder) === words) return false;
		this.#shown.set(view.folder, words);
		return true;
	}
}

/** Plain values only: text of a run folder becomes neither link, image nor HTML. */
function tooltipOf(shown: RunPresentation): vscode.MarkdownString {
	const text = new vscode.MarkdownString();
	text.appendMarkdown('**').appendText(shown.label).appendMarkdown('**\n\n');
	for (const [name, value] of shown.tooltip) text.appendMarkdown(`${name}: `).appendText(value).appendMarkdown('  \n');
	return text;
}
