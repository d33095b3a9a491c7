import { setTimeout } from 'node:timers/promises';
import type { AbortSignalLike } from '../base/async.ts';
import { checkAborted } from '../base/async.ts';
import type { Look } from '../core/diagnosis/rule.ts';
import { heartbeatMs, silentMs } from '../files/lockTimes.ts';
import { ownFormat } from './annotationFolder.ts';
import type { RunContent } from './runContent.ts';
import { readEvents } from './runReader.ts';
import { runStateOf } from './runStatus.ts';

/**
 * Returns the current state of one of our own runs, or null for another trainer's run, whose files do not show whether
 * it is active.
 */
export async function lookAtRun(content: RunContent): Promise<Look | null> {
	if (content.format !== ownFormat) return null;
	const { record, status } = await runStateOf(() => content.record());
	return { now: Date.now() / 1000, heartbeat: record.heartbeat, working: status === 'running' };
}

/**
 * Returns the state of a run for callers that do not follow it, using the engine's own times to determine how long ago
 * the last row and the last event were written. A stale heartbeat is read twice, because after the machine wakes from
 * sleep, the engine needs a moment to write a new one.
 * @param lastTime time of the latest row, in seconds since the epoch; null if there are no rows
 */
export async function firstLook(
	content: RunContent,
	lastTime: number | null,
	signal?: AbortSignalLike,
): Promise<Look | null> {
	if (lastTime === null) return null;
	const look = await lookAtRun(content).catch(() => null);
	if (look === null || !look.working || look.heartbeat === null) return look;
	const events = await readEvents(content.folder).catch(() => []);
	const active = Math.max(lastTime, ...events.slice(-100).map(({ time }) => time));
	const quiet = Math.max(0, look.heartbeat - active);
	if ((look.now - look.heartbeat) * 1000 < silentMs) return { ...look, quiet };
	await setTimeout(heartbeatMs + 1000);
	checkAborted(signal);
	const again = await lookAtRun(content).catch(() => null);
	if (again === null || !again.working || again.heartbeat !== look.heartbeat) return again;
	const silent = Math.max(0, again.now - look.heartbeat);
	return { ...again, quiet: quiet + silent, silent };
}
