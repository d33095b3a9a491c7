import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { type RunContextKey, runContextKeys } from './ids.ts';
import type { RunStore } from './runStore.ts';
import { hasEnded, isLive, isResumable, isRunning, type RunView } from './runView.ts';

const conditions: Readonly<Record<RunContextKey, (view: RunView) => boolean>> = {
	[runContextKeys.hasRuns]: () => true,
	[runContextKeys.hasLiveRuns]: isLive,
	[runContextKeys.hasRunningRuns]: isRunning,
	[runContextKeys.hasPausedRuns]: (view) => view.status === 'paused',
	[runContextKeys.hasResumableRuns]: isResumable,
	[runContextKeys.hasEndedRuns]: hasEnded,
};

/** Updates the `when` clause context keys for runs. */
export class RunContext extends Disposable {
	readonly #last = new Map<string, boolean>();

	constructor(store: RunStore) {
		super();
		this.register(
			store.onDidChange(() => {
				for (const [key, condition] of Object.entries(conditions)) this.#set(key, store.runs.some(condition));
			}),
		);
	}

	#set(key: string, value: boolean): void {
		if ((this.#last.get(key) ?? false) === value) return;
		this.#last.set(key, value);
		void vscode.commands.executeCommand('setContext', key, value);
	}
}
