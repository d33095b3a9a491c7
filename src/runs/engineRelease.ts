import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../base/failure.ts';
import { FileLock } from '../files/fileLock.ts';
import { endingMs } from '../files/lockTimes.ts';
import { type ProcessIdentity, processState } from '../processes/processIdentity.ts';
import { runFiles } from './runFiles.ts';

/** Between two looks at a process that is ending. */
const lookMs = 50;

export interface ReleaseOptions {
	/** The lock's folder below `folder`; default: a run's. */
	readonly lock?: string;
	/** How long to wait, in milliseconds; default: as long as others wait for its lock. */
	readonly limitMs?: number;
	readonly signal?: AbortSignal | undefined;
}

/**
 * Waits until the process that has ended its work on a folder has let go of it: its lock is free (the trainer ends before
 * that, as do device and rewards) and it is gone. An engine writes how a run ended first and lets go after, so a record that
 * says `stopped` is not enough to resume, move or delete the run. Another process that has the lock in the meantime is not waited for.
 * Fails with `timeout` at the limit, `cancelled` when the signal fires.
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
				'Wait until it exits, or force it with reasoning-lab stop --now.',
			);
		}
		await sleep(lookMs);
	}
}

async function holds(lock: string, engine: ProcessIdentity): Promise<boolean> {
	const holder = await FileLock.holder(lock);
	if (holder !== null && isSame(holder, engine)) return true;
	// A run that this process trains itself is over with its lock.
	return engine.pid !== process.pid && (await processState(engine)) === 'alive';
}

const isSame = (one: ProcessIdentity, other: ProcessIdentity): boolean =>
	one.host === other.host &&
	one.boot === other.boot &&
	one.pid === other.pid &&
	one.processStart === other.processStart;
