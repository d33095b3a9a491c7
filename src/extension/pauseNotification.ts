import type * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { claimNotice } from './noticeClaims.ts';
import type { Notices } from './notices.ts';
import type { RunStore } from './runStore.ts';
import { displayText, nameOf, type RunView } from './runView.ts';
import { settings } from './settings.ts';

interface Needs {
	readonly store: Pick<RunStore, 'own' | 'onDidChange'>;
	readonly notices: Pick<Notices, 'warning'>;
	/** Folder shared by all windows. */
	readonly storage: vscode.Uri;
	readonly openDashboard: (folder: string) => unknown;
	readonly openLog: (view: RunView) => Promise<void>;
	readonly continue: (view: RunView) => unknown;
}

/** Shows a single notification across all windows when a run pauses on its own and needs user action. */
export class PauseNotification extends Disposable {
	readonly #needs: Needs;
	readonly #seen = new Set<string>();

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.register(needs.store.onDidChange(() => this.#look()));
	}

	#look(): void {
		for (const view of this.#needs.store.own) {
			const pause = view.status === 'paused' ? view.record?.pause : undefined;
			if (pause === undefined) continue;
			const identity = `${view.folder}\npaused\n${view.record?.id}\n${pause.time}`;
			if (this.#seen.has(identity)) continue;
			this.#seen.add(identity);
			void this.#tell(view, pause, identity);
		}
	}

	async #tell(view: RunView, pause: { message: string; action?: string | undefined }, identity: string): Promise<void> {
		const { notices, storage, openDashboard, openLog } = this.#needs;
		if (settings.notifyRunEnd() === 'never' || !(await claimNotice(storage, identity))) return;
		const action = pause.action ? ` ${displayText(pause.action, 400)}` : '';
		await notices.warning(`${nameOf(view)} is paused: ${displayText(pause.message, 400)}${action}`, [
			{ title: 'Open Dashboard', run: () => openDashboard(view.folder) },
			{ title: 'Continue', run: () => this.#needs.continue(view) },
			{ title: 'Open Log', run: () => openLog(view) },
		]);
	}
}
