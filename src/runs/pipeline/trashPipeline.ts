import { join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { FileLock } from '../../files/fileLock.ts';
import { endingMs } from '../../files/lockTimes.ts';
import { pipelineFiles } from '../../protocol/pipelineFiles.ts';
import { moveToTrash, withIdleRun } from '../runActions.ts';
import { claimsRunning, readPipelineState, stageRunsIn } from './pipelineFolder.ts';

/**
 * Moves a pipeline with all of its stages to `.trash` beside it; `restoreRun` brings it back. Fails with `busy` while its runner
 * or the engine of a stage is at work. @returns where it lies now, and where the runs of its stages lay
 */
export async function trashPipeline(
	folder: string,
): Promise<{ readonly path: string; readonly runs: readonly string[] }> {
	const { status } = await readPipelineState(folder);
	if (claimsRunning({ status })) throw new Failure('busy', `The pipeline ${folder} is ${status}.`, 'Stop it first.');
	const runs = await stageRunsIn(folder);
	const lock = await FileLock.acquire(join(folder, pipelineFiles.lock), `The pipeline ${folder}`, endingMs);
	try {
		// An engine outlives its runner.
		for (const run of runs) await withIdleRun(run, async () => undefined);
	} finally {
		await lock.release();
	}
	return { path: await moveToTrash(folder), runs };
}
