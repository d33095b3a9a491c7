import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { commandIds, viewIds } from '../ids.ts';
import { plainMarkdown } from '../rewards/plainMarkdown.ts';
import { type RowOpener, registerRowCommand, rowCommand } from '../rowCommand.ts';
import { treeRowItem } from '../treeRow.ts';
import type { SearchPresentation } from './searchPresentation.ts';

/** Data source for the tree view. */
export interface SearchList {
	/** Returns logs, newest first, once they have been scanned. */
	logs(): Promise<readonly string[]>;
	/** Logs from the most recent scan. */
	readonly known: readonly string[];
	present(log: string): SearchPresentation | null;
	/** Whether the view is visible. */
	watched: boolean;
	readonly onDidChange: (listener: () => void) => { dispose(): void };
}

const openerOf = (log: string): RowOpener => ({
	command: commandIds.openSearchTree,
	title: 'Open Search Tree',
	arguments: [log],
});

/** The *Searches* view. Tree elements are log paths; the list is loaded when the view is first shown. */
export class SearchesTree extends Disposable implements vscode.TreeDataProvider<string> {
	readonly #load: () => Promise<SearchList>;
	readonly #changed = this.register(new vscode.EventEmitter<string[] | undefined>());
	readonly #view: vscode.TreeView<string>;
	#list: Promise<SearchList> | null = null;
	#loaded: SearchList | null = null;
	/** Row order as last read by VS Code. */
	#order: readonly string[] = [];
	readonly #said = new Map<string, string>();
	readonly onDidChangeTreeData = this.#changed.event;

	constructor(load: () => Promise<SearchList>) {
		super();
		this.#load = load;
		this.#view = this.register(
			vscode.window.createTreeView(viewIds.searches, { treeDataProvider: this, canSelectMany: true }),
		);
		this.register(registerRowCommand('searches', this.#view, openerOf));
		this.register(
			this.#view.onDidChangeVisibility(({ visible }) => {
				if (this.#loaded !== null) this.#loaded.watched = visible;
			}),
		);
	}

	/** Selected logs. */
	get selection(): readonly string[] {
		return this.#view.selection;
	}

	async getChildren(element?: string): Promise<string[]> {
		if (element !== undefined) return [];
		this.#list ??= this.#begin();
		const logs = [...(await (await this.#list).logs())];
		this.#order = logs;
		return logs;
	}

	getParent(): undefined {
		return undefined;
	}

	getTreeItem(log: string): vscode.TreeItem {
		const shown = this.#loaded?.present(log) ?? null;
		const item = treeRowItem(log, shown);
		this.#said.set(log, JSON.stringify(shown));
		if (shown === null) return item;
		item.command = rowCommand('searches', openerOf(log));
		return item;
	}

	/** Builds the tooltip on demand, without Markdown formatting. */
	resolveTreeItem(item: vscode.TreeItem, log: string): vscode.TreeItem {
		const shown = this.#loaded?.present(log) ?? null;
		if (shown === null) return item;
		const text = new vscode.MarkdownString();
		for (const [name, value] of shown.tooltip) {
			text
				.appendMarkdown(`${plainMarkdown(name)}: `)
				.appendText(value)
				.appendMarkdown('  \n');
		}
		item.tooltip = text;
		return item;
	}

	async #begin(): Promise<SearchList> {
		const list = await this.#load();
		this.#loaded = list;
		list.watched = this.#view.visible;
		this.register(list.onDidChange(() => this.#update(list)));
		return list;
	}

	/**
	 * Refreshes rows whose text has changed. Refreshes the whole list only if rows were added, removed or moved; see
	 * `RunsTree`.
	 */
	#update(list: SearchList): void {
		const logs = list.known;
		const sameOrder = logs.length === this.#order.length && logs.every((log, i) => log === this.#order[i]);
		if (!sameOrder) {
			this.#said.clear();
			this.#changed.fire(undefined);
			return;
		}
		const changed = logs.filter((log) => this.#said.get(log) !== JSON.stringify(list.present(log)));
		if (changed.length > 0) this.#changed.fire(changed);
	}
}
