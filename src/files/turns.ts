import { type AbortSignalLike, checkAborted } from '../base/async.ts';

/** Maximum time to run before yielding to the event loop, in milliseconds. */
const stretchMs = 4;

/** Yields to the event loop at intervals, and fails with `cancelled` once the signal has aborted. */
export class Turns {
	readonly #signal: AbortSignalLike | undefined;
	#since = performance.now();

	constructor(signal?: AbortSignalLike) {
		this.#signal = signal;
	}

	get due(): boolean {
		return performance.now() - this.#since >= stretchMs;
	}

	/** Yields to the event loop. Await this when `due` is true. */
	async pass(): Promise<void> {
		checkAborted(this.#signal);
		await new Promise((resolve) => setImmediate(resolve));
		this.#since = performance.now();
		checkAborted(this.#signal);
	}
}

/** Runs a generator to completion, yielding to the event loop at intervals. Fails with `cancelled`. */
export async function inTurns<T>(search: Generator<void, T>, signal?: AbortSignalLike): Promise<T> {
	const turns = new Turns(signal);
	for (;;) {
		const { done, value } = search.next();
		if (done) return value;
		if (turns.due) await turns.pass();
	}
}
