import type { TreeEvent } from '../../src/protocol/treeLog.ts';

/** Events per second; `recorded`: original speed. */
export const speeds = ['recorded', 2, 10, 50, 250, 1000] as const;
export type Speed = (typeof speeds)[number];

/** Replay position: events, fraction of the next event, and log time. */
export interface PlayState {
	readonly moment: number;
	/** Part of the next event that has gone by, or seconds since the last one. */
	readonly rest: number;
}

/** Where the replay is after `seconds` more. */
export function advance(
	{ moment, rest }: PlayState,
	seconds: number,
	speed: Speed,
	events: readonly TreeEvent[],
): PlayState {
	if (speed !== 'recorded') {
		const to = moment + rest + seconds * speed;
		const whole = Math.min(events.length, Math.floor(to + 1e-9));
		return { moment: whole, rest: whole === events.length ? 0 : Math.max(0, to - whole) };
	}
	const from = (events[moment - 1]?.at ?? events[0]?.at ?? 0) + rest;
	const now = from + seconds;
	let at = moment;
	while (at < events.length && (events[at] as TreeEvent).at <= now) at++;
	const last = events[at - 1]?.at ?? events[0]?.at ?? 0;
	return { moment: at, rest: at === events.length ? 0 : Math.max(0, now - last) };
}
