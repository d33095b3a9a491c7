import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { commandIds, viewIds } from '../ids.ts';
import { treeRowItem } from '../treeRow.ts';
import type { SearchPresentation } from './searchPresentation.ts';

/** What the view draws. */
export interface SearchList {
	/** Logs, newest first; resolves when they are known. */
	logs(): Promise<readonly string[]>;
	present(log: string): SearchPresentation | null;
	/** Whether somebody looks. */
	watched: boolean;
	readonly onDidChange: (listener: () => void) => { dispose(): void };
}

/** The *Searches* view. Its elements are logs; what it lists is loaded when it is looked at. */
export class SearchesTree extends Disposable implements vscode.TreeDataProvider<string> {
	readonly #load: () => Promise<SearchList>;
	readonly #changed = this.register(new vscode.EventEmitter<undefined>());
	readonly #view: vscode.TreeView<string>;
	#list: Promise<SearchList> | null = null;
	#loaded: SearchList | null = null;
	readonly onDidChangeTreeData = this.#changed.event;

	constructor(load: () => Promise<SearchList>) {
		super();
		this.#load = load;
		this.#view = this.register(
			vscode.window.createTreeView(viewIds.searches, { treeDataProvider: this, canSelectMany: true }),
		);
		this.register(
			this.#view.onDidChangeVisibility(({ visible }) => {
				if (this.#loaded !== null) this.#loaded.watched = visible;
			}),
		);
	}

	/** Logs that are selected in the view. */
	get selection(): readonly string[] {
		return this.#view.selection;
	}

	async getChildren(element?: string): Promise<string[]> {
		if (element !== undefined) return [];
		this.#list ??= this.#begin();
		return [...(await (await this.#list).logs())];
	}

	getParent(): undefined {
		return undefined;
	}

	getTreeItem(log: string): vscode.TreeItem {
		const shown = this.#loaded?.present(log) ?? null;
		const item = treeRowItem(log, shown);
		if (shown === null) return item;
		item.command = { command: commandIds.openSearchTree, title: 'Open Search Tree', arguments: [log] };
		return item;
	}

	/** Tooltips are made when they are asked for; plain values only. */
	resolveTreeItem(item: vscode.TreeItem, log: string): vscode.TreeItem {
		const shown = this.#loaded?.present(log) ?? null;
		if (shown === null) return item;
		const text = new vscode.MarkdownString();
		for (const [name, value] of shown.tooltip) {
			text.appendMarkdown(`${name}: `).appendText(value).appendMarkdown('  \n');
		}
		item.tooltip = text;
		return item;
	}

	async #begin(): Promise<SearchList> {
		const list = await this.#load();
		this.#loaded = list;
		list.watched = this.#view.visible;
		this.register(list.onDidChange(() => this.#changed.fire(undefined)));
		return list;
	}
}
