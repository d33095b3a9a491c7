import type * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { presentEnd } from './endPresentation.ts';
import { claimNotice } from './noticeClaims.ts';
import type { NoticeAction, Notices } from './notices.ts';
import type { RunStore } from './runStore.ts';
import { isLive, type RunView } from './runView.ts';
import { settings } from './settings.ts';

interface Needs {
	readonly store: Pick<RunStore, 'own' | 'get' | 'onDidChange'>;
	readonly notices: Pick<Notices, 'information' | 'error'>;
	readonly memory: vscode.Memento;
	/** Folder shared by all windows. */
	readonly storage: vscode.Uri;
	readonly openDashboard: (folder: string) => unknown;
	readonly openLog: (view: RunView) => Promise<void>;
	readonly resume: (view: RunView) => unknown;
	/** Returns whether a folder is a pipeline stage. Stages are covered by the notification for their pipeline. */
	readonly isStage: (folder: string) => Promise<boolean>;
}

const memoryKey = 'reasoningLab.seenAlive';

/**
 * Shows exactly one notification when a run ends. Live runs are remembered across reloads, so a run that ends while the
 * window is closed is also reported. If several windows are open, only the first one shows the notification.
 */
export class EndNotification extends Disposable {
	readonly #needs: Needs;
	/** Maps folders to the run and attempt last seen alive. */
	readonly #alive: Map<string, string>;
	/** Number of pending starts per folder. */
	readonly #held = new Map<string, number>();
	/** Maps folders of started engines to their previous run, because an engine can exit before it is ever seen alive. */
	readonly #started = new Map<string, string | null>();
	/** Folders of runs started by the user in this window. */
	readonly #own = new Set<string>();

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.#alive = new Map(Object.entries(needs.memory.get<Record<string, string>>(memoryKey, {})));
		this.register(needs.store.onDidChange(() => this.#look()));
	}

	/**
	 * Suppresses notifications for a folder while a start is pending, because the caller reports a failed start itself.
	 * @returns a function to call when the start is settled. Its argument says whether the end was already reported.
	 */
	hold(folder: string): (reported: boolean) => Promise<void> {
		// Report a run that has just ended before the new attempt replaces it.
		this.#look();
		const view = this.#needs.store.get(folder);
		const before = view === undefined ? null : identityOf(view);
		this.#own.add(folder);
		this.#held.set(folder, (this.#held.get(folder) ?? 0) + 1);
		return async (reported) => {
			const others = (this.#held.get(folder) ?? 1) - 1;
			if (others > 0) this.#held.set(folder, others);
			else this.#held.delete(folder);
			if (reported) await this.#forget(folder);
			else this.#started.set(folder, before);
			this.#look();
		};
	}

	async #forget(folder: string): Promise<void> {
		const view = this.#needs.store.get(folder);
		// The caller might only have reported that it stopped waiting. In that case, the run is live and has not ended yet.
		if (view === undefined || isLive(view)) return;
		const identity = identityOf(view);
		if (this.#alive.delete(folder)) this.#remember();
		// Other windows have seen the run too.
		if (identity !== null) await this.#claim(identity);
	}

	#remember(): void {
		void this.#needs.memory.update(memoryKey, Object.fromEntries(this.#alive));
	}

	#look(): void {
		let changed = false;
		for (const view of this.#needs.store.own) {
			const identity = identityOf(view);
			if (identity === null || this.#held.has(view.folder)) continue;
			const seen = this.#alive.get(view.folder);
			const before = this.#started.get(view.folder);
			const isNew = before !== undefined && before !== identity;
			if (isNew) this.#started.delete(view.folder);
			if (isLive(view)) {
				if (seen === identity) continue;
				this.#alive.set(view.folder, identity);
				changed = true;
			} else if (seen !== undefined || isNew) {
				this.#alive.delete(view.folder);
				changed = true;
				void this.#tell(view, identity);
			}
		}
		if (changed) this.#remember();
	}

	async #tell(view: RunView, identity: string): Promise<void> {
		const wish = settings.notifyRunEnd();
		if (wish === 'never' || (wish === 'crash' && view.status !== 'crashed')) return;
		// A stage is reported only if the user started it individually.
		if (!this.#own.has(view.folder) && (await this.#needs.isStage(view.folder))) return;
		if (!(await this.#claim(identity))) return;
		const { notices, openDashboard, openLog, resume } = this.#needs;
		const dashboard: NoticeAction = { title: 'Open Dashboard', run: () => openDashboard(view.folder) };
		const log: NoticeAction = { title: 'Open Log', run: () => openLog(view) };
		const again: NoticeAction = { title: 'Resume', run: () => resume(view) };
		const quiet: NoticeAction = { title: "Don't Show Again", run: () => settings.notifyOnlyCrashes() };
		const text = await presentEnd(view);
		await (view.status === 'crashed'
			? notices.error(text, [again, log, dashboard])
			: notices.information(text, [dashboard, log, quiet]));
	}

	/** Returns true for the first window that claims this notification. */
	#claim(identity: string): Promise<boolean> {
		return claimNotice(this.#needs.storage, identity);
	}
}

function identityOf(view: RunView): string | null {
	return view.record && `${view.folder}\n${view.record.id}\n${view.record.attempt}\n${view.record.processStart}`;
}
