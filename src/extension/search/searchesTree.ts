import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { commandIds, viewIds } from '../ids.ts';
import { plainMarkdown } from '../rewards/plainMarkdown.ts';
import { treeRowItem } from '../treeRow.ts';
import type { SearchPresentation } from './searchPresentation.ts';

/** What the view draws. */
export interface SearchList {
	/** Logs, newest first; resolves when they are known. */
	logs(): Promise<readonly string[]>;
	/** Logs as they were last inspected. */
	readonly known: readonly string[];
	present(log: string): SearchPresentation | null;
	/** Whether somebody looks. */
	watched: boolean;
	readonly onDidChange: (listener: () => void) => { dispose(): void };
}

/** The *Searches* view. Its elements are logs; what it lists is loaded when it is inspected. */
export class SearchesTree extends Disposable implements vscode.TreeDataProvider<string> {
	readonly #load: () => Promise<SearchList>;
	readonly #changed = this.register(new vscode.EventEmitter<string[] | undefined>());
	readonly #view: vscode.TreeView<string>;
	#list: Promise<SearchList> | null = null;
	#loaded: SearchList | null = null;
	/** The rows as the editor has read them, and what each said. */
	#order: readonly string[] = [];
	readonly #said = new Map<string, string>();
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
		item.command = { command: commandIds.openSearchTree, title: 'Open Search Tree', arguments: [log] };
		return item;
	}

	/** Tooltips are made when they are asked for; plain values only. */
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

	/** Redraws the rows that say something else, and the list only when rows came, went or moved; see `RunsTree`. */
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
