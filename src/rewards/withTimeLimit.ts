import { createContext, Script } from 'node:vm';

/** What a time-limited call gives: its value, or that it took longer. */
export type Timed<T> = { readonly value: T } | { readonly tooLong: true };

interface Sandbox {
	call: () => unknown;
}

const sandbox = createContext({ call: () => undefined }) as unknown as Sandbox;
const script = new Script('call()');

/**
 * Runs a synchronous function and stops it when it takes longer than `ms`. V8's watchdog (`vm` with a timeout) interrupts
 * whatever JavaScript runs in this thread, also functions from outside the context, at its next back edge or call; a
 * single BigInt operation runs to its end, so the sizes of numbers are limited elsewhere. What was interrupted may have
 * left its data half-changed: whoever calls takes new data after `tooLong`.
 *
 * Not reentrant. Errors of the function are thrown as they are.
 */
export function withTimeLimit<T>(ms: number, call: () => T): Timed<T> {
	sandbox.call = call;
	try {
		return { value: script.runInContext(sandbox as never, { timeout: Math.max(1, Math.round(ms)) }) as T };
	} catch (error) {
		if ((error as NodeJS.ErrnoException | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return { tooLong: true };
		throw error;
	} finally {
		sandbox.call = () => undefined;
	}
}
