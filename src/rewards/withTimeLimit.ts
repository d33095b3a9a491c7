import { createContext, Script } from 'node:vm';

/** What a time-limited call gives: its value, or that it took longer. */
export type Timed<T> = { readonly value: T } | { readonly tooLong: true };

interface Sandbox {
	call: () => unknown;
}

const sandbox = createContext({ call: () => undefined }) as unknown as Sandbox;
const script = new Script('call()');

/** Tries while the machine gave this process less than half of the time. */
const maxTries = 5;

/**
 * Runs a synchronous function and stops it when it takes longer than `ms`. V8's watchdog (`vm` with a timeout) interrupts
 * whatever JavaScript runs in this thread, also functions from outside the context, regular expressions and `try`, at its
 * next back edge or call; a single BigInt operation runs to its end, so the sizes of numbers are limited elsewhere. What was
 * interrupted may have left its data half-changed: whoever calls takes new data after `tooLong`.
 *
 * The watchdog counts wall-clock time, and on a busy machine a process may get no time at all for that long. A call that was
 * stopped before the process had half of its time is therefore made again, so that the result depends on the work.
 *
 * The function must not change anything that a second call would trip over. Not reentrant. Its errors are thrown as they are.
 */
export function withTimeLimit<T>(ms: number, call: () => T): Timed<T> {
	for (let tries = 1; ; tries++) {
		const before = usedMs();
		const timed = runOnce(ms, call);
		if ('value' in timed || tries === maxTries || usedMs() - before >= ms / 2) return timed;
	}
}

function usedMs(): number {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1000;
}

function runOnce<T>(ms: number, call: () => T): Timed<T> {
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
