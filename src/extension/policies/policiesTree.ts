import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { viewIds } from '../ids.ts';
import { treeRowItem } from '../treeRow.ts';
import type { PolicyPresentation } from './policyPresentation.ts';

/** Data shown in the view. */
export interface PolicyList {
	/** Returns the policy IDs, in order. */
	list(): Promise<readonly string[]>;
	present(id: string): PolicyPresentation | null;
	readonly onDidChange: (listener: () => void) => { dispose(): void };
}

/** The *Policies* view. Its elements are policy IDs; its data is loaded when the view is opened. */
export class PoliciesTree extends Disposable implements vscode.TreeDataProvider<string> {
	readonly #load: () => Promise<PolicyList>;
	readonly #changed = this.register(new vscode.EventEmitter<undefined>());
	readonly #view: vscode.TreeView<string>;
	#list: Promise<PolicyList> | null = null;
	#loaded: PolicyList | null = null;
	readonly onDidChangeTreeData = this.#changed.event;

	constructor(load: () => Promise<PolicyList>) {
		super();
		this.#load = load;
		this.#view = this.register(vscode.window.createTreeView(viewIds.policies, { treeDataProvider: this }));
	}

	get selection(): readonly string[] {
		return this.#view.selection;
	}

	async getChildren(element?: string): Promise<string[]> {
		if (element !== undefined) return [];
		this.#list ??= this.#begin();
		return [...(await (await this.#list).list())];
	}

	getParent(): undefined {
		return undefined;
	}

	getTreeItem(id: string): vscode.TreeItem {
		return treeRowItem(id, this.#loaded?.present(id) ?? null);
	}

	/** Creates tooltips on demand, as plain text so that URLs do not become links. */
	resolveTreeItem(item: vscode.TreeItem, id: string): vscode.TreeItem {
		const shown = this.#loaded?.present(id) ?? null;
		if (shown === null) return item;
		item.tooltip = shown.tooltip.map(([name, value]) => `${name}: ${value}`).join('\n');
		return item;
	}

	async #begin(): Promise<PolicyList> {
		const list = await this.#load();
		this.#loaded = list;
		this.register(list.onDidChange(() => this.#changed.fire(undefined)));
		return list;
	}
}
