import { Failure } from '../base/failure.ts';

/**
 * Settles like the given promise, or rejects with `cancelled` as soon as the signal aborts. Other callers can keep
 * awaiting the same promise.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
	if (signal === undefined) return work;
	return new Promise((resolve, reject) => {
		const abort = () => reject(new Failure('cancelled', 'Canceled.'));
		if (signal.aborted) abort();
		signal.addEventListener('abort', abort, { once: true });
		work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
	});
}
