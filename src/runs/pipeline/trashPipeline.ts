import { join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { FileLock } from '../../files/fileLock.ts';
import { endingMs } from '../../files/lockTimes.ts';
import { pipelineFiles } from '../../protocol/pipelineFiles.ts';
import { moveToTrash, withIdleRun } from '../runActions.ts';
import { claimsRunning, readPipelineState, stageRunsIn } from './pipelineFolder.ts';

/**
 * Moves a pipeline with all its stages to `.trash` next to it; `restoreRun` restores it. Fails with `busy` if its
 * runner or the engine of a stage is active.
 * @returns the new location, and the former locations of the stage runs
 */
export async function trashPipeline(
	folder: string,
): Promise<{ readonly path: string; readonly runs: readonly string[] }> {
	const { status } = await readPipelineState(folder);
	if (claimsRunning({ status })) throw new Failure('busy', `The pipeline ${folder} is ${status}.`, 'Stop it first.');
	const runs = await stageRunsIn(folder);
	const lock = await FileLock.acquire(join(folder, pipelineFiles.lock), `The pipeline ${folder}`, endingMs);
	try {
		// An engine can outlive its runner.
		for (const run of runs) await withIdleRun(run, async () => undefined);
	} finally {
		await lock.release();
	}
	return { path: await moveToTrash(folder), runs };
}
