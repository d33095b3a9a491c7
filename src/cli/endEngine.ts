import { Failure } from '../base/failure.ts';
import { descendantsOf, survivors } from '../processes/descendants.ts';
import type { RunRecord } from '../protocol/runRecord.ts';
import { engineReleased } from '../runs/engineRelease.ts';
import { engineProcess } from '../runs/runControl.ts';

/** Time limit for a killed engine, its trainer, and its reward workers to exit, in milliseconds. */
const killedMs = 30_000;

/**
 * Kills the engine process immediately; files on disk are always consistent. Resolves once the engine and all processes
 * that it started have exited. Fails with `unavailable` if the engine is unknown.
 */
export async function endEngineNow(folder: string, record: RunRecord): Promise<void> {
	const identity = await engineProcess(folder, record);
	if (identity === null) {
		throw new Failure(
			'unavailable',
			`No engine process for ${folder} is running as the current user.`,
			'It might be running on another machine.',
		);
	}
	const started = await descendantsOf(identity.pid);
	process.kill(identity.pid, 'SIGKILL');
	await engineReleased(folder, identity, { limitMs: killedMs });
	const [left] = await survivors(started, killedMs);
	if (left === undefined) return;
	throw new Failure(
		'timeout',
		`The engine of ${folder} has exited, but its child process ${left.pid} is still running.`,
		"Kill it with your operating system's tools.",
	);
}
