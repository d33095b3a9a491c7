import { formatCounted, formatDuration } from '../../src/base/format.ts';
import type { RolloutTimeline, TimelineActivity, TimelineKind } from '../../src/protocol/rolloutTimeline.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

/** Maximum number of rows; activities that would need further rows share the last one. */
const maxRows = 12;

export const kindNames: Readonly<Record<TimelineKind, string>> = {
	generation: 'generation',
	tool: 'tool',
	waiting: 'waiting',
	scoring: 'reward',
	other: 'other',
};

export interface TimelineLayout {
	/** 0-based row of each activity. */
	readonly rows: readonly number[];
	readonly rowCount: number;
	/** Latest recorded time, in seconds. */
	readonly end: number;
}

/**
 * Assigns activities, ordered by start, to rows in which they do not overlap. An activity without a duration takes no
 * time.
 */
export function timelineLayout(activities: RolloutTimeline): TimelineLayout {
	const free: number[] = [];
	let last = 0;
	const rows = activities.map(({ start, seconds }) => {
		const end = start + (seconds ?? 0);
		last = Math.max(last, end);
		const found = free.findIndex((from) => from <= start);
		const row = found === -1 ? Math.min(free.length, maxRows - 1) : found;
		free[row] = Math.max(free[row] ?? Number.NEGATIVE_INFINITY, end);
		return row;
	});
	return { rows, rowCount: free.length, end: last };
}

/** Returns the total seconds covered by activities of a kind, counting overlapping time once. */
export function secondsOf(activities: RolloutTimeline, kind: TimelineKind): number {
	let sum = 0;
	let until = Number.NEGATIVE_INFINITY;
	for (const { kind: own, start, seconds } of activities) {
		if (own !== kind || seconds === null) continue;
		const end = start + seconds;
		sum += Math.max(0, end - Math.max(start, until));
		until = Math.max(until, end);
	}
	return sum;
}

/** Describes a timeline: "5 activities in 12 s: generation 9.1 s, tool 1.2 s. One has no recorded duration." */
export function timelineWords(activities: RolloutTimeline, { end }: TimelineLayout): string {
	const kinds = (Object.keys(kindNames) as TimelineKind[]).flatMap((kind) => {
		const seconds = secondsOf(activities, kind);
		return seconds > 0 ? `${kindNames[kind]} ${formatDuration(seconds)}` : [];
	});
	const unknown = activities.filter(({ seconds }) => seconds === null).length;
	const counted = formatCounted(activities.length, 'activity', 'activities');
	const total = unknown === activities.length ? '' : ` in ${formatDuration(end)}`;
	const missing =
		unknown === 0
			? ''
			: unknown === activities.length
				? ' Durations are not recorded.'
				: ` ${unknown === 1 ? 'One has' : `${unknown} have`} no recorded duration.`;
	return `${counted}${total}${kinds.length === 0 ? '.' : `: ${kinds.join(', ')}.`}${missing}`;
}

/** Describes an activity: "tool calculator at 1.2 s: 0.7 s, 34 tokens". */
export function activityWords({ kind, name, start, seconds, tokens, waited, error }: TimelineActivity): string {
	const facts = [seconds === null ? 'duration not recorded' : formatDuration(seconds)];
	if (tokens !== undefined) facts.push(formatCounted(tokens, 'token'));
	if (waited !== undefined) facts.push(`including ${formatDuration(waited)} of waiting`);
	if (error !== undefined) facts.push(`failed: ${plainLabel(error, 300)}`);
	return `${kindNames[kind]} ${plainLabel(name, 80)} at ${formatDuration(start)}: ${facts.join(', ')}`;
}
