import { type AbortSignalLike, checkAborted } from '../base/async.ts';

/** Longest stretch of work before other events get their turn. */
const stretchMs = 4;

/** Lets other work in between now and then, and ends with `cancelled` when nobody wants the result any more. */
export class Turns {
	readonly #signal: AbortSignalLike | undefined;
	#since = performance.now();

	constructor(signal?: AbortSignalLike) {
		this.#signal = signal;
	}

	get due(): boolean {
		return performance.now() - this.#since >= stretchMs;
	}

	/** To be awaited when `due`. */
	async pass(): Promise<void> {
		checkAborted(this.#signal);
		await new Promise((resolve) => setImmediate(resolve));
		this.#since = performance.now();
		checkAborted(this.#signal);
	}
}

/** What a search comes to that yields now and then, with turns for other work in between. Fails with `cancelled`. */
export async function inTurns<T>(search: Generator<void, T>, signal?: AbortSignalLike): Promise<T> {
	const turns = new Turns(signal);
	for (;;) {
		const { done, value } = search.next();
		if (done) return value;
		if (turns.due) await turns.pass();
	}
}
