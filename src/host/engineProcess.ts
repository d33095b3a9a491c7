import { Failure } from '../base/failure.ts';
import type { RunRecord } from '../protocol/runRecord.ts';
import { processState } from '../runs/processIdentity.ts';

/** How long an engine gets to end after a signal, in milliseconds. */
const graceMs = 2000;

/**
 * Ends an engine that does not answer, on a person's word: SIGTERM, and after the grace the hard way. Before each signal
 * the process's start time is compared with the record's, so that no other process that got its number is hit.
 * Fails with `unsupported` when the engine runs on another machine.
 */
export async function endEngine(record: RunRecord): Promise<void> {
	if (!(await send(record, 'SIGTERM'))) return;
	if (await ended(record)) return;
	await send(record, 'SIGKILL');
	if (!(await ended(record))) {
		throw new Failure('timeout', `Process ${record.pid} does not end.`, 'End it with the tools of your system.');
	}
}

/** @returns false when it has ended already */
async function send(record: RunRecord, signal: NodeJS.Signals): Promise<boolean> {
	// A forged record must not turn the editor against itself.
	if (record.pid === process.pid || record.pid === process.ppid) {
		throw new Failure('denied', `Process ${record.pid} belongs to the editor, so it is not ended.`);
	}
	const state = await processState(record);
	if (state === 'dead') return false;
	if (state === 'elsewhere') {
		throw new Failure('unsupported', `The engine runs on ${record.host}, so it cannot be ended from here.`);
	}
	try {
		process.kill(record.pid, signal);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
		throw Failure.from(error, `Process ${record.pid} could not be ended`);
	}
}

async function ended(record: RunRecord): Promise<boolean> {
	for (const end = Date.now() + graceMs; Date.now() < end; ) {
		if ((await processState(record)) === 'dead') return true;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	return false;
}
