import { basename } from 'node:path';
import { Failure } from '../../base/failure.ts';
import type { ComparisonSpec } from '../../protocol/strategyComparison.ts';
import type { SearchContext } from '../searchContext.ts';
import { compareStrategies } from './compareStrategies.ts';

export interface ComparisonNews {
	readonly folder: string;
	readonly state: 'running' | 'ended';
	/** Why the comparison could not continue; null if it did not fail. */
	readonly failure: string | null;
}

/** Comparisons running in one process, keyed by folder. */
export class RunningComparisons {
	readonly #tell: (news: ComparisonNews) => void;
	readonly #running = new Map<string, { readonly cancel: AbortController; readonly done: Promise<void> }>();
	#closed = false;

	constructor(notify: (news: ComparisonNews) => void) {
		this.#tell = notify;
	}

	get folders(): string[] {
		return [...this.#running.keys()];
	}

	/**
	 * Resolves when the folder has its first summary. The signal only cancels the start; after that, the comparison runs
	 * independently.
	 */
	async start(spec: ComparisonSpec, folder: string, context: SearchContext, signal: AbortSignal): Promise<void> {
		if (this.#closed) throw new Failure('cancelled', 'No new comparisons can be started.');
		if (this.#running.has(folder)) throw new Failure('busy', `The comparison ${basename(folder)} is already running.`);
		const cancel = new AbortController();
		let began = false;
		const abort = () => !began && cancel.abort();
		signal.addEventListener('abort', abort, { once: true });
		if (signal.aborted) abort();
		try {
			await new Promise<void>((resolve, reject) => {
				const work = compareStrategies({
					spec,
					folder,
					context,
					signal: cancel.signal,
					onSummary: () => {
						if (began) return;
						began = true;
						this.#tell({ folder, state: 'running', failure: null });
						resolve();
					},
				});
				const done = work.then(
					() => this.#end(folder, null),
					(error: unknown) => {
						if (!began) {
							this.#running.delete(folder);
							reject(error);
						} else this.#end(folder, Failure.from(error).toString());
					},
				);
				this.#running.set(folder, { cancel, done });
			});
		} finally {
			signal.removeEventListener('abort', abort);
		}
	}

	/** Resolves when the summary says that the comparison has ended; does nothing if none is running. */
	async stop(folder: string): Promise<void> {
		const running = this.#running.get(folder);
		running?.cancel.abort();
		await running?.done;
	}

	async close(): Promise<void> {
		this.#closed = true;
		await Promise.all([...this.#running.keys()].map((folder) => this.stop(folder)));
	}

	#end(folder: string, failure: string | null): void {
		this.#running.delete(folder);
		this.#tell({ folder, state: 'ended', failure });
	}
}
