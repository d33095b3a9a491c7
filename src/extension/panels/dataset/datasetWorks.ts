import type { DatasetWork } from '../../../protocol/datasetMessages.ts';
import type { OnWalk } from '../../../runs/dataset/dataTable.ts';

interface Work {
	readonly controller: AbortController;
	readonly ended: Promise<unknown>;
	done: number;
	total: number;
}

/** Long-running tasks on a dataset, at most one of each kind, with their progress. */
export class DatasetWorks {
	readonly #works = new Map<DatasetWork, Work>();
	readonly #onChange: () => void;

	/** @param onChange called when work starts, progresses, or ends */
	constructor(onChange: () => void) {
		this.#onChange = onChange;
	}

	get progress(): { what: DatasetWork; done: number; total: number }[] {
		return [...this.#works].map(([what, { done, total }]) => ({ what, done, total }));
	}

	has(what: DatasetWork): boolean {
		return this.#works.has(what);
	}

	/** Runs a task. Work of the same kind must have ended; see {@link cancel}. */
	async run(what: DatasetWork, task: (signal: AbortSignal, onWalk: OnWalk) => Promise<void>): Promise<void> {
		const controller = new AbortController();
		const ended = task(controller.signal, (done, total) => {
			work.done = done;
			work.total = total;
			this.#onChange();
		});
		const work: Work = { controller, ended, done: 0, total: 0 };
		this.#works.set(what, work);
		this.#onChange();
		try {
			await ended;
		} finally {
			if (this.#works.get(what) === work) this.#works.delete(what);
			this.#onChange();
		}
	}

	/** Cancels any work of this kind, and resolves when it has ended. */
	async cancel(what: DatasetWork): Promise<void> {
		this.#works.get(what)?.controller.abort();
		await this.ended(what);
	}

	async cancelAll(): Promise<void> {
		for (const what of [...this.#works.keys()]) await this.cancel(what);
	}

	/** Aborts all work at once, and resolves when it has ended. */
	async abort(): Promise<void> {
		for (const { controller } of this.#works.values()) controller.abort();
		await Promise.allSettled([...this.#works.values()].map(({ ended }) => ended));
	}

	/** Resolves when any work of this kind has ended, for whatever reason. */
	async ended(what: DatasetWork): Promise<void> {
		await this.#works.get(what)?.ended.catch(() => undefined);
	}

	/** Resolves when no work is running. */
	async settled(): Promise<void> {
		while (this.#works.size > 0) await Promise.allSettled([...this.#works.values()].map(({ ended }) => ended));
	}
}
