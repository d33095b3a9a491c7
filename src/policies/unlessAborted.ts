import { Failure } from '../base/failure.ts';

/** What a promise comes to, or `cancelled` as soon as the signal fires: others continue waiting for the same promise. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
	if (signal === undefined) return work;
	return new Promise((resolve, reject) => {
		const abort = () => reject(new Failure('cancelled', 'Canceled.'));
		if (signal.aborted) abort();
		signal.addEventListener('abort', abort, { once: true });
		work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
	});
}
