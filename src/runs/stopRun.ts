import type { RunRecord } from '../protocol/runRecord.ts';
import { engineReleased } from './engineRelease.ts';
import { connectRun } from './runControl.ts';

/**
 * Asks the engine to stop after its current batch and resolves once all of its processes have exited. Fails with
 * `timeout` if the engine stops but does not exit.
 */
export async function stopEngine(folder: string, record: RunRecord, checkpoint: boolean): Promise<void> {
	const client = await connectRun(folder, record, 'reasoning-lab');
	try {
		await client.request('run/stop', { checkpoint });
	} finally {
		client.dispose();
	}
	await engineReleased(folder, record);
}
