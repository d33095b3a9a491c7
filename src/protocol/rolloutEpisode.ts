import * as v from 'valibot';
import { decode } from './decode.ts';
import { episodeErrorSchema, toolCallSchema } from './episode.ts';

const state = v.record(v.string(), v.unknown());

/**
 * `extra.episode` of a rollout in an environment. Every engine uses this format; any part can be missing in runs from
 * older versions. Tokens that came from the environment are in `extra.observed`, as ranges of completion tokens (start,
 * end, end exclusive).
 */
export const rolloutEpisodeSchema = v.looseObject({
	/** Number of tool calls, and how many of them resulted in an error. */
	calls: v.optional(v.number()),
	failures: v.optional(v.number()),
	/** Why the episode ended; `length` if the completion reached its token limit. */
	stop: v.optional(v.picklist(['policy', 'done', 'turns', 'length', 'failed'])),
	/** Why the episode has no reward. */
	error: v.optional(episodeErrorSchema),
	/** Seconds spent in the environment: reset, tools and reward. */
	seconds: v.optional(v.number()),
	/** Text that `reset` added to the prompt. */
	observation: v.optional(v.nullable(v.string())),
	/** Short form of the state after `reset` (`shortState`). */
	state: v.optional(state),
	turns: v.optional(
		v.array(
			v.looseObject({
				calls: v.array(toolCallSchema),
				/** Results, in the order the model sees them. */
				results: v.array(v.looseObject({ name: v.string(), content: v.string(), failed: v.boolean() })),
				/** Reward of the turn, if the environment gives one. */
				reward: v.optional(v.nullable(v.number())),
				seconds: v.optional(v.number()),
				/** Short form of the state after the turn; absent if the turn failed. */
				state: v.optional(state),
			}),
		),
	),
});
export type RolloutEpisode = v.InferOutput<typeof rolloutEpisodeSchema>;

/** Returns a rollout line's episode, or null if there is none or it cannot be decoded. */
export function rolloutEpisode(extra: Readonly<Record<string, unknown>> | undefined): RolloutEpisode | null {
	const decoded = decode(rolloutEpisodeSchema, extra?.episode);
	return decoded.ok ? decoded.value : null;
}
