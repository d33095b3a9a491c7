import * as v from 'valibot';

/** A chat message; `reasoning_content`, `tool_calls`, `tool_call_id` and `name` are kept where there are any. */
export const messageSchema = v.looseObject({ role: v.string(), content: v.nullable(v.string()) });
export type Message = v.InferOutput<typeof messageSchema>;
const text = v.union([v.string(), v.array(messageSchema)]);
const numbers = v.array(v.nullable(v.number()));

/** One line of rollouts/step_N.jsonl. `group` is unique within the step; a group's rollouts answer one prompt. */
export const rolloutLineSchema = v.looseObject({
	/** null: of another trainer, which records none. */
	step: v.nullable(v.number()),
	stage: v.string(),
	group: v.number(),
	index: v.number(),
	prompt: text,
	completion: text,
	answer: v.optional(v.unknown()),
	/** Which row of the dataset, or the generator's key of the problem. */
	row: v.optional(v.unknown()),
	rewards: v.record(v.string(), v.nullable(v.number())),
	/** Weighted sum of the rewards that are not null; null if all are. */
	reward: v.nullable(v.number()),
	advantage: v.nullable(v.number()),
	/** Cut off at the length limit; null: not recorded. */
	truncated: v.nullable(v.boolean()),
	/** One entry per completion token. Log-probabilities in nats, at the sampling temperature. */
	tokens: v.optional(
		v.object({
			/** Where only ids were recorded: "#" and the id. */
			text: v.array(v.string()),
			logprob: numbers,
			oldLogprob: v.optional(numbers),
			refLogprob: v.optional(numbers),
			entropy: v.optional(numbers),
			/** Where the trainer records one a token. */
			advantage: v.optional(numbers),
		}),
	),
	/**
	 * Of a completion whose messages branch, parallel to them: the index of the message that each follows; null: it
	 * follows the prompt. Absent: each follows the one before.
	 */
	parents: v.optional(v.array(v.nullable(v.number()))),
	/** `length`: tokens of the completion, where they are not logged. `text`: "not recorded" where prompt and completion are not. */
	extra: v.optional(v.record(v.string(), v.unknown())),
});
export type RolloutLine = v.InferOutput<typeof rolloutLineSchema>;

/** `extra.text` of a rollout whose prompt and completion its trainer did not record: both are empty. */
export const textNotRecorded = 'not recorded';

/** Whether the text of the completion is known; false: its trainer did not record it, so nothing in it can be counted. */
export function hasText({ completion, extra }: RolloutLine): boolean {
	return completion.length > 0 || extra?.text !== textNotRecorded;
}

/** The step by which places name the rollouts that have none. */
export const noStep = 0;

/** Of a rollout's step, before its group: "step 3, "; nothing where it is not known. */
export function stepText({ step }: Pick<RolloutLine, 'step'>): string {
	return step === null ? '' : `step ${step}, `;
}
