import { Failure } from '../base/failure.ts';
import { descendantsOf, survivors } from '../processes/descendants.ts';
import type { RunRecord } from '../protocol/runRecord.ts';
import { engineReleased } from '../runs/engineRelease.ts';
import { connectRun, engineProcess } from '../runs/runControl.ts';

/** How long an engine that was killed, its trainer and its reward workers may take to be gone, in milliseconds. */
const killedMs = 30_000;

/**
 * Asks the engine to stop after its batch; resolves when it has and nothing of it is left. Fails with `timeout` where it has
 * stopped and does not end.
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

/**
 * Ends the engine's process at once; what is on disk is complete at any moment. Resolves when it and everything that it has
 * started is gone. Fails with `unavailable` if no engine is known.
 */
export async function endEngineNow(folder: string, record: RunRecord): Promise<void> {
	const identity = await engineProcess(folder, record);
	if (identity === null) {
		throw new Failure(
			'unavailable',
			`No engine of ${folder} was found for this user.`,
			'It may run on another machine.',
		);
	}
	const started = await descendantsOf(identity.pid);
	process.kill(identity.pid, 'SIGKILL');
	await engineReleased(folder, identity, { limitMs: killedMs });
	const [left] = await survivors(started, killedMs);
	if (left === undefined) return;
	throw new Failure(
		'timeout',
		`The engine of ${folder} has exited, but process ${left.pid}, which it started, is still running.`,
		'Kill it with the tools of your system.',
	);
}
