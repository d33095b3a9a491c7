import { type Fields, fieldsOf, listOf, numberOf, secondsOf, textOf } from '../foreignValues.ts';
import type { TimedActivity } from '../timeline.ts';

/*
 * Events of a sample in an Inspect log (inspect_ai/event): a model call or a tool call is one event with both a start
 * and an end time, and a scorer is a span with separate start and end events.
 */

/** Maximum number of events to examine. */
const maxEvents = 100_000;

function activityOf(event: Fields, kind: TimedActivity['kind'], name: string | null): TimedActivity | null {
	const start = secondsOf(event.timestamp);
	if (start === null) return null;
	const end = secondsOf(event.completed);
	const working = numberOf(event.working_time);
	const usage = fieldsOf(fieldsOf(event.output)?.usage);
	const error = textOf(event.error) ?? textOf(fieldsOf(event.error)?.message);
	return {
		kind,
		name: name ?? kind,
		start,
		end,
		tokens: numberOf(usage?.output_tokens),
		waited: end === null || working === null || working < 0 ? null : Math.max(0, end - start - working),
		error,
	};
}

/** Returns the model calls, tool calls and scorers of a sample. */
export function inspectActivities(events: unknown): TimedActivity[] {
	const activities: TimedActivity[] = [];
	const scorers = new Map<string, TimedActivity>();
	for (const entry of listOf(events).slice(0, maxEvents)) {
		const event = fieldsOf(entry);
		const kind = textOf(event?.event);
		if (event === null || kind === null) continue;
		let activity: TimedActivity | null = null;
		if (kind === 'model') activity = activityOf(event, 'generation', textOf(event.model));
		else if (kind === 'tool') activity = activityOf(event, 'tool', textOf(event.function));
		else if (kind === 'span_begin' && event.type === 'scorer') {
			const span = activityOf(event, 'scoring', textOf(event.name));
			const id = textOf(event.id);
			if (span !== null && id !== null) scorers.set(id, span);
		} else if (kind === 'span_end') {
			const span = scorers.get(textOf(event.id) ?? '');
			if (span !== undefined) scorers.set(textOf(event.id) ?? '', { ...span, end: secondsOf(event.timestamp) });
		}
		if (activity !== null) activities.push(activity);
	}
	return [...activities, ...scorers.values()];
}

/** Returns when the sample started, in seconds since the epoch. */
export const inspectStart = (sample: Fields) => secondsOf(sample.started_at);
