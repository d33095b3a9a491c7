import * as vscode from 'vscode';
import type { CommandTable } from '../commandTable.ts';
import { commandIds } from '../ids.ts';
import { Lazy } from '../lazy.ts';
import { isEnvironmentUri } from './environmentFiles.ts';
import type { EnvironmentWorkbench } from './environmentWorkbench.ts';

/** Loads the features for environment files only when one is visible or a command runs. */
export class LazyEnvironments extends Lazy<EnvironmentWorkbench> {
	constructor(load: () => Promise<EnvironmentWorkbench>) {
		super(load);
		this.register(vscode.window.onDidChangeVisibleTextEditors(() => this.start()));
	}

	/** Checks the documents that are already open. */
	start(): void {
		if (this.isLoaded) return;
		if (vscode.window.visibleTextEditors.some(({ document }) => isEnvironmentUri(document.uri))) {
			this.get().catch(() => {});
		}
	}
}

export function addEnvironmentCommands(table: CommandTable, environments: LazyEnvironments): void {
	table.add(commandIds.newEnvironment, async (...args) => (await environments.get()).newEnvironment(...args));
	table.add(commandIds.verifyEnvironment, async (...args) => (await environments.get()).verify(...args));
}
