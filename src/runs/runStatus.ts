import { endingMs, silentMs } from '../files/lockTimes.ts';
import { processState } from '../processes/processIdentity.ts';
import type { AnyRunRecord, RunRecord, RunStatus } from '../protocol/runRecord.ts';
import { readRecord } from './runReader.ts';

const liveStatuses: readonly RunStatus[] = ['starting', 'running', 'paused'];

/** Whether a record says that an engine is at work; whether it is, {@link effectiveStatus} tells. */
export function claimsLife(record: Pick<RunRecord, 'status'>): boolean {
	return liveStatuses.includes(record.status);
}

/** How long the lock of a run is worth waiting for, in milliseconds: who has written that it is over still puts it away. */
export async function lockPatience(folder: string): Promise<number> {
	const record = await readRecord(folder).catch(() => null);
	return record !== null && !claimsLife(record) ? endingMs : 0;
}

/**
 * The state of a run as it is: a record that says `starting`, `running` or `paused` while its engine does not live reads
 * as `crashed`. On the same host and boot the process and its start time decide, elsewhere the heartbeat's age.
 * @param now seconds since the epoch
 */
export async function effectiveStatus(record: AnyRunRecord, now = Date.now() / 1000): Promise<RunStatus> {
	// Of another trainer's run nothing names a process: its reader has judged by the times of its files.
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

/** What a run says of itself, and the state that it is in. */
export interface RunState<T extends AnyRunRecord = RunRecord> {
	readonly record: T;
	readonly status: RunStatus;
}

/**
 * A run's record with its state. An engine writes how it ended and then ends: one that did so between the two looks would
 * read as crashed, so a record that its engine does not bear out is read once more.
 * @param read reads the record; what it throws is thrown
 */
export async function runStateOf<T extends AnyRunRecord>(read: () => Promise<T>): Promise<RunState<T>> {
	const record = await read();
	const status = await effectiveStatus(record);
	if (status === record.status) return { record, status };
	const last = await read();
	return { record: last, status: await effectiveStatus(last) };
}

/** {@link runStateOf} the run in a folder. Fails as {@link readRecord} does. */
export const readRunState = (run: string): Promise<RunState> => runStateOf(() => readRecord(run));
