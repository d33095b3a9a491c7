import { Failure } from '../base/failure.ts';
import { descendantsOf, survivors } from '../processes/descendants.ts';
import { type ProcessIdentity, processState } from '../processes/processIdentity.ts';
import type { AnyRunRecord } from '../protocol/runRecord.ts';
import { engineProcess } from '../runs/runControl.ts';

/** How long an engine gets to end after a signal, in milliseconds. */
const graceMs = 2000;
/** How long what it has started may take to be gone after it, in milliseconds. */
const remainsMs = 30_000;

/**
 * Ends an engine that does not answer, on a person's word: SIGTERM, and after the grace SIGKILL. Resolves when it and what it
 * has started are gone. Which process that is, the engine has said in the user's own runtime folder: the pid in the run folder may be anybody's. Before each signal
 * its start time is compared. Fails with `unsupported` when it runs on another machine, `unavailable` when it is unknown.
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
			'Kill it with the tools of your system.',
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
	return new Failure('timeout', `Process ${pid} is still running.`, 'Kill it with the tools of your system.');
}

/** @returns false when it has ended already */
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
