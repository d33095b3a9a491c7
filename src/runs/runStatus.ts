import type { RunRecord, RunStatus } from '../protocol/runRecord.ts';
import { silentMs } from './lockTimes.ts';
import { processState } from './processIdentity.ts';

const liveStatuses: readonly RunStatus[] = ['starting', 'running', 'paused'];

/** Whether a record says that an engine is at work; whether it is, {@link effectiveStatus} tells. */
export function claimsLife(record: Pick<RunRecord, 'status'>): boolean {
	return liveStatuses.includes(record.status);
}

/**
 * The state of a run as it is: a record that says `starting`, `running` or `paused` while its engine does not live reads
 * as `crashed`. On the same host and boot the process and its start time decide, elsewhere the heartbeat's age.
 * @param now seconds since the epoch
 */
export async function effectiveStatus(record: RunRecord, now = Date.now() / 1000): Promise<RunStatus> {
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
