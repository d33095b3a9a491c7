import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { type RunContextKey, runContextKeys } from './ids.ts';
import type { RunStore } from './runStore.ts';
import { hasEnded, isLive, isResumable, isRunning, type RunView } from './runView.ts';

const conditions: Readonly<Record<RunContextKey, (view: RunView, store: RunStore) => boolean>> = {
	[runContextKeys.hasRuns]: () => true,
	[runContextKeys.hasLiveRuns]: isLive,
	[runContextKeys.hasRunningRuns]: isRunning,
	[runContextKeys.hasPausedRuns]: (view) => view.status === 'paused',
	[runContextKeys.hasResumableRuns]: isResumable,
	[runContextKeys.hasEndedRuns]: hasEnded,
	[runContextKeys.hasOtherRuns]: ({ folder }, store) => !store.isOwn(folder),
};

/** Updates the `when` clause context keys for runs. */
export class RunContext extends Disposable {
	readonly #last = new Map<string, boolean>();

	constructor(store: RunStore) {
		super();
		this.register(
			store.onDidChange(() => {
				for (const [key, condition] of Object.entries(conditions)) {
					this.#set(
						key,
						store.runs.some((view) => condition(view, store)),
					);
				}
			}),
		);
	}

	#set(key: string, value: boolean): void {
		if ((this.#last.get(key) ?? false) === value) return;
		this.#last.set(key, value);
		void vscode.commands.executeCommand('setContext', key, value);
	}
}
