/** Replay position: a turn, where 0 is the reset, and the fraction of it that has elapsed. */
export interface ReplayState {
	readonly turn: number;
	readonly rest: number;
}

/** Turns per second at speed 1. */
const pace = 1;

/** Returns the position after another `seconds`, stopping at the last turn. */
export function advance({ turn, rest }: ReplayState, seconds: number, speed: number, last: number): ReplayState {
	const to = turn + rest + seconds * speed * pace;
	const whole = Math.min(last, Math.floor(to + 1e-9));
	return { turn: whole, rest: whole >= last ? 0 : Math.max(0, to - whole) };
}
