import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { commandIds, settingIds } from './ids.ts';
import { presentStatusBar } from './runPresentation.ts';
import type { RunStore } from './runStore.ts';
import { isLive, isRunning, type RunView } from './runView.ts';
import { settings } from './settings.ts';

/** Status bar item for the active run. Clicking it opens the dashboard. Hidden when no run is active. */
export class StatusBar extends Disposable {
	readonly #store: RunStore;
	#item: vscode.StatusBarItem | null = null;
	#text = '';

	constructor(store: RunStore) {
		super();
		this.#store = store;
		this.register(store.onDidChange(() => this.#update()));
		this.register(
			vscode.workspace.onDidChangeConfiguration((event) => {
				if (event.affectsConfiguration(settingIds.showStatusBar)) this.#update();
			}),
		);
	}

	#update(): void {
		const view = activeRun(this.#store.own);
		if (view === null || !settings.showStatusBar()) {
			this.#item?.hide();
			this.#text = '';
			return;
		}
		const shown = presentStatusBar(view);
		const words = JSON.stringify([view.folder, shown]);
		if (words === this.#text) return;
		this.#text = words;
		this.#item ??= this.#create();
		this.#item.text = shown.text;
		this.#item.tooltip = shown.tooltip;
		this.#item.accessibilityInformation = { label: shown.spoken, role: 'button' };
		this.#item.command = { command: commandIds.openDashboard, title: 'Open Dashboard', arguments: [view.folder] };
		this.#item.show();
	}

	#create(): vscode.StatusBarItem {
		const item = this.register(
			vscode.window.createStatusBarItem('reasoningLab.activeRun', vscode.StatusBarAlignment.Left, 5),
		);
		item.name = 'Reasoning Lab: active run';
		return item;
	}
}

/** Returns the newest run that is computing, falling back to the newest live run. */
export function activeRun(runs: readonly RunView[]): RunView | null {
	return runs.find(isRunning) ?? runs.find(isLive) ?? null;
}
