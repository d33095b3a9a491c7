import * as v from 'valibot';

/**
 * Reasons an episode can fail. A failed tool call does not fail the episode; the model sees its error as the result.
 * - `threw`: reset or get_reward raised an exception; `invalid`: they, or a tool, returned something unusable
 * - `size`: an observation exceeded the limit
 * - `timeout`, `memory`, `processes`: user code exceeded a limit; `exited`: it terminated its process
 * - `load`: the file could not be reloaded
 * - `server`: the environment's server is unavailable or rejected the episode
 * - `changed`: after the process was replaced, the same actions produced different observations
 */
export const episodeErrorKinds = [
	'threw',
	'invalid',
	'size',
	'timeout',
	'memory',
	'processes',
	'exited',
	'load',
	'server',
	'changed',
] as const;

/** A tool call by a policy. `arguments` is whatever the policy wrote; only an object is valid. */
export const toolCallSchema = v.object({ name: v.string(), arguments: v.unknown() });
export interface ToolCall {
	readonly name: string;
	readonly arguments: unknown;
}

export const episodeStops = [
	// The policy made no more tool calls.
	'policy',
	// The environment's `done` attribute is true.
	'done',
	// The turn limit was reached.
	'turns',
	// See `error`.
	'failed',
] as const;
export type EpisodeStop = (typeof episodeStops)[number];

export const episodeErrorSchema = v.object({
	/** What was running when the episode failed. */
	during: v.picklist(['reset', 'call', 'reward']),
	kind: v.picklist(episodeErrorKinds),
	message: v.string(),
	/** 1-based line in the environment file. */
	line: v.optional(v.number()),
	stack: v.optional(v.string()),
});
export type EpisodeError = v.InferOutput<typeof episodeErrorSchema>;
export type EpisodeErrorKind = EpisodeError['kind'];

export const episodeTurnSchema = v.object({
	calls: v.array(toolCallSchema),
	/** Tool results as the model sees them, in TRL's order. Results can be missing only if the turn failed. */
	results: v.array(
		v.object({
			name: v.string(),
			content: v.string(),
			/** Whether the tool raised an exception; if so, the content includes its message. */
			failed: v.boolean(),
			/** Exception message. */
			message: v.optional(v.string()),
			line: v.optional(v.number()),
		}),
	),
	done: v.nullable(v.boolean()),
	/** Sum of what the turn added to the environment's `turn_rewards`; absent if it added nothing. */
	reward: v.exactOptional(v.number()),
	durationMs: v.number(),
	state: v.optional(v.record(v.string(), v.unknown())),
});
export type EpisodeTurn = v.InferOutput<typeof episodeTurnSchema>;

/** One episode, from reset to reward. */
export const episodeSchema = v.object({
	/** Zero-based dataset row. */
	row: v.number(),
	/** Policy name. */
	policy: v.string(),
	/** Text that `reset` appended to the prompt; null if it returned none. */
	observation: v.nullable(v.string()),
	/** State after `reset`. */
	state: v.optional(v.record(v.string(), v.unknown())),
	turns: v.array(episodeTurnSchema),
	/** null if the reward does not apply, the environment has none, or the episode failed. */
	reward: v.nullable(v.number()),
	stop: v.picklist(episodeStops),
	error: v.optional(episodeErrorSchema),
	durationMs: v.number(),
	/** Output printed by user code, up to a limit. */
	logs: v.array(v.string()),
});
export type Episode = v.InferOutput<typeof episodeSchema>;
