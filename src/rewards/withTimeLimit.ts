import { createContext, Script } from 'node:vm';

/** Result of a time-limited call: its value, or an indication that it took too long. */
export type Timed<T> = { readonly value: T } | { readonly tooLong: true };

interface Sandbox {
	call: () => unknown;
}

const sandbox = createContext({ call: () => undefined }) as unknown as Sandbox;
const script = new Script('call()');

/** Maximum number of attempts if this process gets CPU time for less than half of the limit. */
const maxTries = 5;

/**
 * Runs a synchronous function and stops it if it takes longer than `ms`. V8's watchdog (`vm` with a timeout) interrupts
 * any JavaScript in this thread at its next back edge or call, including functions from outside the context, regular
 * expressions and `try`. It cannot interrupt a single BigInt operation, so number sizes are limited elsewhere. An
 * interrupted function may leave its data in an inconsistent state, so after `tooLong` the caller must start over with
 * new data.
 *
 * The watchdog measures wall-clock time, and on a busy machine a process may get no CPU time at all during that period.
 * A call that was stopped before the process got even half of that time on the CPU is therefore repeated, so that the
 * result depends on the amount of work rather than on the machine's load.
 *
 * The function must be safe to call again. Not reentrant. Errors are rethrown unchanged.
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
