import { type Fields, fieldsOf, listOf, numberOf, textOf } from '../foreignValues.ts';
import type { TimedActivity } from '../timeline.ts';

/* Times in a trace (verifiers/v1/trace.py): its phases and its model calls. */

const phases = [
	['boot', 'waiting'],
	['setup', 'waiting'],
	['finalize', 'other'],
	['scoring', 'scoring'],
] as const;

/** Returns the start and end of a phase, or null if it did not run. The file has 0 for both in that case. */
function timesOf(value: unknown): { readonly start: number; readonly end: number | null } | null {
	const times = fieldsOf(value);
	const [start, end] = [numberOf(times?.start), numberOf(times?.end)];
	return start === null || start <= 0 ? null : { start, end: end === null || end <= 0 ? null : end };
}

export function traceActivities(trace: Fields): TimedActivity[] {
	const timing = fieldsOf(trace.timing);
	const activities: TimedActivity[] = [];
	for (const [name, kind] of phases) {
		const times = timesOf(timing?.[name]);
		if (times !== null) activities.push({ kind, name, ...times });
	}
	for (const call of listOf(trace.calls).map(fieldsOf)) {
		const times = timesOf(call?.time);
		if (call === null || times === null) continue;
		const tokens = numberOf(fieldsOf(call.usage)?.completion_tokens);
		activities.push({ kind: 'generation', name: textOf(call.model) ?? 'model', ...times, tokens });
	}
	return activities;
}

/** Returns when the trace started, in seconds since the epoch. */
export const traceStart = (trace: Fields) => numberOf(fieldsOf(trace.timing)?.start) || null;
