import * as v from 'valibot';
import { decode } from './decode.ts';

/**
 * Kind of activity: the model was generating, a tool was running, the rollout was waiting (such as for a server), or it
 * was being scored.
 */
export const timelineKinds = ['generation', 'tool', 'waiting', 'scoring', 'other'] as const;
export type TimelineKind = (typeof timelineKinds)[number];

/**
 * `extra.timeline` of a rollout whose trainer records times: its activities, sorted by start. They can overlap or be
 * nested, and nothing is known about the time between them.
 */
export const rolloutTimelineSchema = v.array(
	v.looseObject({
		kind: v.picklist(timelineKinds),
		/** Name recorded by the trainer, such as a model, tool or scorer name. */
		name: v.string(),
		/** Seconds since the start of the rollout. */
		start: v.number(),
		/** null if the end is not recorded. */
		seconds: v.nullable(v.number()),
		/** Number of generated tokens. */
		tokens: v.optional(v.number()),
		/** Seconds spent waiting during the activity, such as for a rate limit. */
		waited: v.optional(v.number()),
		/** Why the activity failed. */
		error: v.optional(v.string()),
	}),
);
export type RolloutTimeline = v.InferOutput<typeof rolloutTimelineSchema>;
export type TimelineActivity = RolloutTimeline[number];

/** Returns a rollout line's timeline, or null if there is none or it cannot be decoded. */
export function rolloutTimeline(extra: Readonly<Record<string, unknown>> | undefined): RolloutTimeline | null {
	const decoded = decode(rolloutTimelineSchema, extra?.timeline);
	return decoded.ok && decoded.value.length > 0 ? decoded.value : null;
}
