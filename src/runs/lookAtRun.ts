import { setTimeout } from 'node:timers/promises';
import type { AbortSignalLike } from '../base/async.ts';
import { checkAborted } from '../base/async.ts';
import type { Look } from '../core/diagnosis/rule.ts';
import { heartbeatMs, silentMs } from '../files/lockTimes.ts';
import { ownFormat } from './annotationFolder.ts';
import type { RunContent } from './runContent.ts';
import { readEvents } from './runReader.ts';
import { runStateOf } from './runStatus.ts';

/** How a run of ours stands; null: another trainer's, whose files do not say whether anybody is at work. */
export async function lookAtRun(content: RunContent): Promise<Look | null> {
	if (content.format !== ownFormat) return null;
	const { record, status } = await runStateOf(() => content.record());
	return { now: Date.now() / 1000, heartbeat: record.heartbeat, working: status === 'running' };
}

/**
 * The only look of a caller that does not follow the run: by the engine's own times, how long there was no row and no event.
 * An old heartbeat is read twice, since after a sleep of the machine the engine needs a moment to write one.
 * @param lastTime of the newest row, in seconds since the epoch; null: no rows
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
