import { Failure } from './failure.ts';

export interface Deferred<T> {
	readonly promise: Promise<T>;
	resolve(value: T): void;
	reject(error: unknown): void;
}

export function deferred<T>(): Deferred<T> {
	let resolve!: (value: T) => void;
	let reject!: (error: unknown) => void;
	const promise = new Promise<T>((yes, no) => {
		resolve = yes;
		reject = no;
	});
	return { promise, resolve, reject };
}

/** Runs tasks sequentially, in the order they were queued. */
export class Sequencer {
	#tail: Promise<unknown> = Promise.resolve();

	queue<T>(task: () => Promise<T>): Promise<T> {
		const next = this.#tail.then(task, task);
		this.#tail = next.catch(() => undefined);
		return next;
	}
}

/** The part of `AbortSignal` needed for polling. Declared here because src/base must not depend on Node or the DOM. */
export interface AbortSignalLike {
	readonly aborted: boolean;
}

/** Throws a `cancelled` failure if the signal is aborted. */
export function checkAborted(signal: AbortSignalLike | undefined): void {
	if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
}

/** The part of `AbortSignal` needed to wait for it. */
interface ListenableSignal extends AbortSignalLike {
	addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
	removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * Settles like the given promise, or rejects with `cancelled` as soon as the signal aborts. Other callers can keep
 * awaiting the same promise.
 */
export function unlessAborted<T>(work: Promise<T>, signal: ListenableSignal | undefined): Promise<T> {
	if (signal === undefined) return work;
	return new Promise((resolve, reject) => {
		const abort = () => reject(new Failure('cancelled', 'Canceled.'));
		if (signal.aborted) abort();
		signal.addEventListener('abort', abort, { once: true });
		work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
	});
}
