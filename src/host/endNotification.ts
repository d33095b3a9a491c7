import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { presentEnd } from './endPresentation.ts';
import type { NoticeAction, Notices } from './notices.ts';
import type { RunStore } from './runStore.ts';
import { isLive, type RunView } from './runView.ts';
import { settings } from './settings.ts';

interface Needs {
	readonly store: RunStore;
	readonly notices: Notices;
	readonly memory: vscode.Memento;
	/** A folder that all windows share. */
	readonly storage: vscode.Uri;
	readonly openDashboard: (folder: string) => unknown;
	readonly openLog: (view: RunView) => Promise<void>;
	readonly resume: (view: RunView) => unknown;
}

const memoryKey = 'reasoningLab.seenAlive';
const claimsFolder = 'ended';

/**
 * One notification, once, when a run ends. What was seen alive is remembered over reloads, so that an end while the
 * window was closed is told, too; of several windows the first one tells.
 */
export class EndNotification extends Disposable {
	readonly #needs: Needs;
	/** Folder -> run and attempt that was seen alive. */
	readonly #alive: Map<string, string>;

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.#alive = new Map(Object.entries(needs.memory.get<Record<string, string>>(memoryKey, {})));
		this.register(needs.store.onDidChange(() => this.#look()));
	}

	#look(): void {
		let changed = false;
		for (const view of this.#needs.store.runs) {
			const identity = identityOf(view);
			if (identity === null) continue;
			const seen = this.#alive.get(view.folder);
			if (isLive(view)) {
				if (seen === identity) continue;
				this.#alive.set(view.folder, identity);
				changed = true;
			} else if (seen !== undefined) {
				this.#alive.delete(view.folder);
				changed = true;
				void this.#tell(view, identity);
			}
		}
		if (changed) void this.#needs.memory.update(memoryKey, Object.fromEntries(this.#alive));
	}

	async #tell(view: RunView, identity: string): Promise<void> {
		const wish = settings.notifyRunEnd();
		if (wish === 'never' || (wish === 'crash' && view.status !== 'crashed')) return;
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

	/** True for the first window that asks. */
	async #claim(identity: string): Promise<boolean> {
		const folder = join(this.#needs.storage.fsPath, claimsFolder);
		const name = createHash('sha256').update(identity).digest('hex').slice(0, 32);
		try {
			await mkdir(folder, { recursive: true });
			await writeFile(join(folder, name), '', { flag: 'wx' });
			return true;
		} catch (error) {
			// Told twice is better than not told.
			return (error as NodeJS.ErrnoException).code !== 'EEXIST';
		}
	}
}

function identityOf(view: RunView): string | null {
	return view.record && `${view.folder}\n${view.record.id}\n${view.record.attempt}\n${view.record.processStart}`;
}
