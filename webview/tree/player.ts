import type { TreeEvent } from '../../src/protocol/treeLog.ts';

/** Replay speeds in events per second. `recorded` is the original speed. */
export const speeds = ['recorded', 2, 10, 50, 250, 1000] as const;
export type Speed = (typeof speeds)[number];

/** Replay position: number of events, progress to the next event, and log time. */
export interface PlayState {
	readonly moment: number;
	/** Elapsed fraction of the next event, or seconds since the last one. */
	readonly rest: number;
}

/** Returns the replay position after another `seconds`. */
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
