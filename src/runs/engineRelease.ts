import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../base/failure.ts';
import { FileLock } from '../files/fileLock.ts';
import { endingMs } from '../files/lockTimes.ts';
import { type ProcessIdentity, processState } from '../processes/processIdentity.ts';
import { runFiles } from './runFiles.ts';

/** Polling interval while a process is shutting down. */
const lookMs = 50;

export interface ReleaseOptions {
	/** Lock folder inside `folder`; default: the run lock. */
	readonly lock?: string;
	/** Timeout in milliseconds; default: the usual timeout for waiting for the folder's lock. */
	readonly limitMs?: number;
	readonly signal?: AbortSignal | undefined;
}

/**
 * Waits until a process that has finished its work on a folder has released the folder: the lock is free (trainer,
 * device and rewards are released before that) and the process has exited. An engine records how a run ended before it
 * releases the folder, so a record with status `stopped` is not enough to resume, move or delete the run. Does not wait
 * for another process that acquires the lock in the meantime. Fails with `timeout` at the limit, and with `cancelled`
 * when the signal fires.
 */
export async function engineReleased(
	folder: string,
	engine: ProcessIdentity,
	{ lock = runFiles.lock, limitMs = endingMs, signal }: ReleaseOptions = {},
): Promise<void> {
	const deadline = performance.now() + limitMs;
	while (await holds(join(folder, lock), engine)) {
		if (signal?.aborted) {
			throw new Failure('cancelled', `Process ${engine.pid} has finished its work on ${folder} and is shutting down.`);
		}
		if (performance.now() > deadline) {
			throw new Failure(
				'timeout',
				`The work on ${folder} has finished, but process ${engine.pid} is still shutting down after ${Math.round(limitMs / 1000)} s.`,
				`Wait until it exits, or end process ${engine.pid}.`,
			);
		}
		await sleep(lookMs);
	}
}

async function holds(lock: string, engine: ProcessIdentity): Promise<boolean> {
	const holder = await FileLock.holder(lock);
	if (holder !== null && isSame(holder, engine)) return true;
	// If this process trained the run itself, the run is finished once its lock is released.
	return engine.pid !== process.pid && (await processState(engine)) === 'alive';
}

const isSame = (one: ProcessIdentity, other: ProcessIdentity): boolean =>
	one.host === other.host &&
	one.boot === other.boot &&
	one.pid === other.pid &&
	one.processStart === other.processStart;
