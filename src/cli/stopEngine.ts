import { Failure } from '../base/failure.ts';
import type { RunRecord } from '../protocol/runRecord.ts';
import { connectRun, engineProcess } from '../runs/runControl.ts';

/** Asks the engine to stop after its batch; resolves when it has. */
export async function stopEngine(folder: string, record: Pick<RunRecord, 'id'>, checkpoint: boolean): Promise<void> {
	const client = await connectRun(folder, record, 'reasoning-lab');
	try {
		await client.request('run/stop', { checkpoint });
	} finally {
		client.dispose();
	}
}

/** Ends the engine's process at once; what is on disk is complete at any moment. Fails with `unavailable` if none is known. */
export async function endEngineNow(folder: string, record: Pick<RunRecord, 'id'>): Promise<void> {
	const identity = await engineProcess(folder, record);
	if (identity === null) {
		throw new Failure('unavailable', `No engine of ${folder} is known to this user.`, 'It may run on another machine.');
	}
	process.kill(identity.pid, 'SIGKILL');
}
