import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { viewIds } from './ids.ts';

/** The *Runs* view: a native tree, newest run first. */
export class RunsTree extends Disposable implements vscode.TreeDataProvider<string> {
	constructor() {
		super();
		this.register(vscode.window.createTreeView(viewIds.runs, { treeDataProvider: this }));
	}

	getTreeItem(folder: string): vscode.TreeItem {
		return new vscode.TreeItem(folder);
	}

	getChildren(): string[] {
		return [];
	}
}
