import { endingMs, silentMs } from '../files/lockTimes.ts';
import { processState } from '../processes/processIdentity.ts';
import type { AnyRunRecord, RunRecord, RunStatus } from '../protocol/runRecord.ts';
import { readRecord } from './runReader.ts';

const liveStatuses: readonly RunStatus[] = ['starting', 'running', 'paused'];

/** Returns whether a record claims that an engine is active; {@link effectiveStatus} checks whether it is. */
export function claimsLife(record: Pick<RunRecord, 'status'>): boolean {
	return liveStatuses.includes(record.status);
}

/**
 * Returns how long to wait for a run's lock, in milliseconds. The wait is needed because the process still has to clean
 * up after recording the end of the run.
 */
export async function lockPatience(folder: string): Promise<number> {
	const record = await readRecord(folder).catch(() => null);
	return record !== null && !claimsLife(record) ? endingMs : 0;
}

/**
 * Returns the actual status of a run: `crashed` if the record says `starting`, `running` or `paused` but the engine is
 * dead. On the same host and boot, this is determined from the process and its start time, otherwise from the age of
 * the heartbeat.
 * @param now seconds since the epoch
 */
export async function effectiveStatus(record: AnyRunRecord, now = Date.now() / 1000): Promise<RunStatus> {
	// A run from another trainer has no process ID; the reader for its format derives the status from file times.
	if (!claimsLife(record) || record.engine === 'foreign') return record.status;
	switch (await processState(record)) {
		case 'alive':
			return record.status;
		case 'dead':
			return 'crashed';
		case 'elsewhere':
			return (now - record.heartbeat) * 1000 < silentMs ? record.status : 'crashed';
	}
}

/** A run's record together with its actual status. */
export interface RunState<T extends AnyRunRecord = RunRecord> {
	readonly record: T;
	readonly status: RunStatus;
}

/**
 * Returns a run's record with its status. An engine records how it ended before it exits. If that happens between the
 * two reads, the run would appear to have crashed, so a record that contradicts its engine's state is read again.
 * @param read reads the record; its errors are propagated
 */
export async function runStateOf<T extends AnyRunRecord>(read: () => Promise<T>): Promise<RunState<T>> {
	const record = await read();
	const status = await effectiveStatus(record);
	if (status === record.status) return { record, status };
	const last = await read();
	return { record: last, status: await effectiveStatus(last) };
}

/** Same as {@link runStateOf}, for the run in a folder. Fails with the same errors as {@link readRecord}. */
export const readRunState = (run: string): Promise<RunState> => runStateOf(() => readRecord(run));
