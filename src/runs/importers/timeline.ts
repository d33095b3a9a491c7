import type { RolloutTimeline, TimelineActivity, TimelineKind } from '../../protocol/rolloutTimeline.ts';
import { given } from './foreignValues.ts';

/** Maximum number of activities to keep per rollout. */
const maxActivities = 2000;

/** An activity with absolute times, in seconds since the epoch. */
export interface TimedActivity {
	readonly kind: TimelineKind;
	readonly name: string;
	readonly start: number;
	readonly end: number | null;
	readonly tokens?: number | null;
	/** Seconds of this activity spent waiting. */
	readonly waited?: number | null;
	readonly error?: string | null;
}

/**
 * Returns activities relative to the start of the rollout, in order, or undefined if there are none. An end before the
 * start, as when the clock was set back, counts as not recorded.
 * @param started defaults to the first activity's start
 */
export function timelineOf(activities: readonly TimedActivity[], started?: number | null): RolloutTimeline | undefined {
	const timed = activities.filter(({ start }) => Number.isFinite(start)).sort((a, b) => a.start - b.start);
	const [first] = timed;
	if (first === undefined) return undefined;
	const zero = Math.min(started ?? first.start, first.start);
	return timed.slice(0, maxActivities).map(
		({ kind, name, start, end, tokens, waited, error }): TimelineActivity => ({
			kind,
			name,
			start: rounded(start - zero),
			seconds: end === null || !(end >= start) ? null : rounded(end - start),
			...given('tokens', tokens),
			...given('waited', waited ? rounded(waited) : null),
			...given('error', error),
		}),
	);
}

/** Rounds to microseconds, because times since the epoch are not more precise. */
const rounded = (seconds: number) => Math.round(seconds * 1e6) / 1e6;
