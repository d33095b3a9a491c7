import { Disposable } from '../../../base/disposable.ts';
import type { RunTableEvent, RunTableRow } from '../../../protocol/runTableMessages.ts';
import type { RunStore } from '../../runStore.ts';
import type { RunView } from '../../runView.ts';
import { type ReadRow, readRow, rowOf } from './runRows.ts';

interface Needs {
	readonly store: Pick<RunStore, 'runs' | 'isOwn' | 'onDidChange' | 'ready'>;
	readonly post: (event: RunTableEvent) => void;
	/** Reads a run's files; replaced in tests. */
	readonly read?: (view: RunView) => Promise<ReadRow>;
}

interface Entry {
	/** Data that the row was computed from. */
	view: RunView;
	stamp: string;
	read: ReadRow | null;
}

/** Number of runs read concurrently and sent together. */
const together = 16;
const sentTogether = 128;

/**
 * Extension side of the run table. First sends data from the run list, then each run's recipe and metrics. Files are
 * reread only if the run has changed.
 */
export class RunTableSession extends Disposable {
	readonly #needs: Needs;
	readonly #entries = new Map<string, Entry>();
	#started = false;
	#reading = false;

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.register(needs.store.onDidChange(() => this.#look()));
	}

	/** Sends everything to a page that has just started. */
	async begin(): Promise<void> {
		await this.#needs.store.ready;
		if (this.disposed) return;
		this.#started = true;
		this.#update();
		const rows = this.#needs.store.runs.map((view) => this.#row(view));
		this.#needs.post({ type: 'rows', rows, pending: this.#unread().length });
		void this.#readAll();
	}

	/** @returns the changed runs, and the folders of removed runs */
	#update(): { changed: RunView[]; removed: string[] } {
		const changed: RunView[] = [];
		const views = this.#needs.store.runs;
		for (const view of views) {
			const entry = this.#entries.get(view.folder);
			const stamp = stampOf(view);
			if (entry?.view === view) continue;
			changed.push(view);
			if (entry === undefined) this.#entries.set(view.folder, { view, stamp, read: null });
			else {
				if (entry.stamp !== stamp) entry.read = null;
				Object.assign(entry, { view, stamp });
			}
		}
		const known = new Set(views.map(({ folder }) => folder));
		const removed = [...this.#entries.keys()].filter((folder) => !known.has(folder));
		for (const folder of removed) this.#entries.delete(folder);
		return { changed, removed };
	}

	#look(): void {
		if (!this.#started) return;
		const { changed, removed } = this.#update();
		if (changed.length === 0 && removed.length === 0) return;
		this.#send(changed, removed);
		void this.#readAll();
	}

	#unread(): Entry[] {
		return [...this.#entries.values()].filter(({ read }) => read === null);
	}

	async #readAll(): Promise<void> {
		if (this.#reading) return;
		this.#reading = true;
		try {
			let fresh: RunView[] = [];
			for (let unread = this.#unread(); unread.length > 0 && !this.disposed; unread = this.#unread()) {
				await Promise.all(
					unread.slice(0, together).map(async (entry) => {
						const { view, stamp } = entry;
						const read = await (this.#needs.read ?? readRow)(view);
						if (entry.stamp === stamp) entry.read = read;
						fresh.push(view);
					}),
				);
				if (fresh.length < sentTogether && this.#unread().length > 0) continue;
				this.#send(fresh, []);
				fresh = [];
			}
		} finally {
			this.#reading = false;
		}
	}

	#send(views: readonly RunView[], removed: readonly string[]): void {
		if (this.disposed) return;
		const rows = views.filter(({ folder }) => this.#entries.has(folder)).map((view) => this.#row(view));
		this.#needs.post({ type: 'changes', rows, removed: [...removed], pending: this.#unread().length });
	}

	#row({ folder, ...view }: RunView): RunTableRow {
		const entry = this.#entries.get(folder);
		return rowOf(entry?.view ?? { folder, ...view }, this.#needs.store.isOwn(folder), entry?.read ?? null);
	}
}

/** Key that changes when a run's recipe or metrics might have changed, including at each step of a live run. */
function stampOf({ record, status }: RunView): string {
	return `${record?.id} ${record?.attempt} ${record?.step} ${record?.updated} ${status}`;
}
