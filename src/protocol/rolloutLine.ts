import * as v from 'valibot';

/** A chat message; `reasoning_content`, `tool_calls`, `tool_call_id` and `name` are preserved if present. */
export const messageSchema = v.looseObject({ role: v.string(), content: v.nullable(v.string()) });
export type Message = v.InferOutput<typeof messageSchema>;
/** A prompt or completion: text, or the messages of a conversation. */
export const recordedTextSchema = v.union([v.string(), v.array(messageSchema)]);
const numbers = v.array(v.nullable(v.number()));

/**
 * One line of rollouts/step_N.jsonl. `group` is unique within the step; all rollouts in a group answer the same prompt.
 */
export const rolloutLineSchema = v.looseObject({
	/** null for trainers that record no steps. */
	step: v.nullable(v.number()),
	stage: v.string(),
	group: v.number(),
	index: v.number(),
	prompt: recordedTextSchema,
	completion: recordedTextSchema,
	answer: v.optional(v.unknown()),
	/** Dataset row, or the generator's key for the problem. */
	row: v.optional(v.unknown()),
	rewards: v.record(v.string(), v.nullable(v.number())),
	/** Weighted sum of the non-null rewards, or null if all of them are null. */
	reward: v.nullable(v.number()),
	advantage: v.nullable(v.number()),
	/** Whether the completion was truncated at the length limit; null if not recorded. */
	truncated: v.nullable(v.boolean()),
	/** One entry per completion token. Log-probabilities in nats, at the sampling temperature. */
	tokens: v.optional(
		v.object({
			/** Token text, or "#" followed by the ID if only IDs were recorded. */
			text: v.array(v.string()),
			logprob: numbers,
			oldLogprob: v.optional(numbers),
			refLogprob: v.optional(numbers),
			entropy: v.optional(numbers),
			/**
			 * Version (number of updates) of the weights that generated each token. Present if weights can be stale.
			 */
			version: v.optional(numbers),
			/** Present if the trainer records per-token advantages. */
			advantage: v.optional(numbers),
		}),
	),
	/**
	 * For completions whose messages branch: for each message, the index of the message it follows, or null for the
	 * prompt. If absent, each message follows the one before it.
	 */
	parents: v.optional(v.array(v.nullable(v.number()))),
	/**
	 * `length`: number of completion tokens if tokens are not logged. `text`: "not recorded" if prompt and completion are
	 * missing.
	 */
	extra: v.optional(v.record(v.string(), v.unknown())),
});
export type RolloutLine = v.InferOutput<typeof rolloutLineSchema>;

/** `extra.text` of a rollout whose prompt and completion were not recorded; both are then empty. */
export const textNotRecorded = 'not recorded';

/** Returns whether the completion text is known. If the trainer did not record it, nothing in it can be counted. */
export function hasText({ completion, extra }: RolloutLine): boolean {
	return completion.length > 0 || extra?.text !== textNotRecorded;
}

/** Placeholder step number for rollouts without a step. */
export const noStep = 0;

/** Returns a rollout's step as text to prepend to its group ("step 3, "), or '' if the step is unknown. */
export function stepText({ step }: Pick<RolloutLine, 'step'>): string {
	return step === null ? '' : `step ${step}, `;
}
