import { Disposable, toDisposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { Failure } from '../../base/failure.ts';
import type { AuditReport } from '../../protocol/audit.ts';
import type { Comparison } from '../../protocol/comparison.ts';
import type { ResultPlace } from '../../protocol/verificationMessages.ts';

/** An audit or comparison in this window; the previous result is kept while it is rerun. */
export interface Judgment {
	readonly phase: 'running' | 'done' | 'failed';
	readonly failure: Failure | null;
	readonly result: AuditReport | Comparison | null;
}

/** Returns a key for a result; the order of its fields does not matter. */
export function keyOfPlace(place: ResultPlace): string {
	const { view, file, reward } = place;
	if (view !== 'comparison') return JSON.stringify([view, file, reward]);
	const { run, with: against, file: other, reward: otherReward, weights } = place.answers;
	const sorted = weights === undefined ? null : Object.entries(weights).sort(([a], [b]) => (a < b ? -1 : 1));
	return JSON.stringify([view, file, reward, run, against, other, otherReward, sorted]);
}

/** Audits and comparisons in this window, running or finished. Rerunning one cancels its previous run. */
export class Judgments extends Disposable {
	readonly #entries = new Map<string, { judgment: Judgment; abort: AbortController | null }>();
	readonly #changed = this.register(new Emitter<string>());
	/** Fires with the key of the changed result. */
	readonly onDidChange = this.#changed.event;

	constructor() {
		super();
		this.register(
			toDisposable(() => {
				for (const { abort } of this.#entries.values()) abort?.abort();
				this.#entries.clear();
			}),
		);
	}

	get(place: ResultPlace): Judgment | undefined {
		return this.#entries.get(keyOfPlace(place))?.judgment;
	}

	/**
	 * Runs the task and stores its result. Rejects with the task's error, or with `cancelled` if the task was canceled.
	 */
	async run<T extends AuditReport | Comparison>(
		place: ResultPlace,
		signal: AbortSignal,
		work: (signal: AbortSignal) => Promise<T>,
	): Promise<T> {
		const key = keyOfPlace(place);
		const before = this.#entries.get(key);
		before?.abort?.abort();
		const earlier = before?.judgment.result ?? null;
		const abort = new AbortController();
		this.#set(key, { phase: 'running', failure: null, result: earlier }, abort);
		try {
			const result = await work(AbortSignal.any([signal, abort.signal]));
			if (this.#isLatest(key, abort)) this.#set(key, { phase: 'done', failure: null, result }, null);
			return result;
		} catch (error) {
			const ended = signal.aborted || abort.signal.aborted;
			const failure = ended ? new Failure('cancelled', 'Canceled.') : Failure.from(error);
			if (this.#isLatest(key, abort)) {
				if (ended) this.#restore(key, earlier);
				else this.#set(key, { phase: 'failed', failure, result: earlier }, null);
			}
			throw failure;
		}
	}

	/** Cancels the running task; the previous result is kept. */
	cancel(place: ResultPlace): void {
		this.#entries.get(keyOfPlace(place))?.abort?.abort();
	}

	/** Discards a result that is no longer shown. */
	forget(place: ResultPlace): void {
		const key = keyOfPlace(place);
		if (this.#entries.get(key)?.abort === null) this.#entries.delete(key);
	}

	#isLatest(key: string, abort: AbortController): boolean {
		return !this.disposed && this.#entries.get(key)?.abort === abort;
	}

	#restore(key: string, earlier: Judgment['result']): void {
		if (earlier !== null) {
			this.#set(key, { phase: 'done', failure: null, result: earlier }, null);
			return;
		}
		this.#entries.delete(key);
		this.#changed.fire(key);
	}

	#set(key: string, judgment: Judgment, abort: AbortController | null): void {
		this.#entries.set(key, { judgment, abort });
		this.#changed.fire(key);
	}
}
