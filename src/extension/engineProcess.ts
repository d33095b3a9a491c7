import { Failure } from '../base/failure.ts';
import { descendantsOf, survivors } from '../processes/descendants.ts';
import { type ProcessIdentity, processState } from '../processes/processIdentity.ts';
import type { AnyRunRecord } from '../protocol/runRecord.ts';
import { engineProcess } from '../runs/runControl.ts';

/** Time for an engine to exit after a signal, in milliseconds. */
const graceMs = 2000;
/** Time for the engine's child processes to exit after the engine has exited, in milliseconds. */
const remainsMs = 30_000;

/**
 * Kills an unresponsive engine at the user's request: SIGTERM, then SIGKILL after a grace period. Resolves once the
 * engine and its child processes have exited. The process is identified by the engine's entry in the user's own runtime
 * folder, because the PID in the run folder is not trustworthy, and its start time is checked before each signal. Fails
 * with `unsupported` if the engine runs on another machine and `unavailable` if it cannot be identified.
 */
export async function endEngine(folder: string, record: AnyRunRecord): Promise<void> {
	const engine = await engineProcess(folder, record);
	if (engine === null) {
		const state = await processState(record);
		if (state === 'dead') return;
		if (state === 'elsewhere') {
			throw new Failure('unsupported', `The engine runs on ${record.host}, so it cannot be stopped from here.`);
		}
		throw new Failure(
			'unavailable',
			`Process ${record.pid} did not identify itself as the engine of ${folder}, so it was not killed.`,
			"Kill it with your operating system's tools.",
		);
	}
	const started = await descendantsOf(engine.pid);
	if ((await send(engine, 'SIGTERM')) && !(await ended(engine))) {
		await send(engine, 'SIGKILL');
		if (!(await ended(engine))) throw doesNotEnd(engine.pid);
	}
	const [left] = await survivors(started, remainsMs);
	if (left !== undefined) throw doesNotEnd(left.pid);
}

function doesNotEnd(pid: number): Failure {
	return new Failure('timeout', `Process ${pid} is still running.`, "Kill it with your operating system's tools.");
}

/** @returns false if the engine has already exited */
async function send(engine: ProcessIdentity, signal: NodeJS.Signals): Promise<boolean> {
	if ((await processState(engine)) !== 'alive') return false;
	try {
		process.kill(engine.pid, signal);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
		throw Failure.from(error, `Cannot kill process ${engine.pid}`);
	}
}

async function ended(engine: ProcessIdentity): Promise<boolean> {
	for (const end = Date.now() + graceMs; Date.now() < end; ) {
		if ((await processState(engine)) === 'dead') return true;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	return false;
}
