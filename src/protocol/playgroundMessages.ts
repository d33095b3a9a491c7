import * as v from 'valibot';
import { failureDataSchema } from './failureData.ts';
import { policySpecSchema } from './policySpec.ts';

/*
 * Messages between the playground (webview/playground) and its panel. The panel queries the policies and stores their
 * answers; the view stores what the user has typed and renders everything else. Both sides validate incoming messages.
 */

/** Maximum length of a question, template or system message, in characters. */
export const longestQuestion = 200_000;
/** Maximum length of a completion, in characters. Generation stops at this limit, and longer text is truncated. */
export const longestCompletion = 400_000;
export const maxSamples = 8;
export const maxTokens = 32_768;
/** Maximum number of tokens per completion for which alternatives are kept. */
export const maxDetails = 8192;
/** Number of alternatives requested per token. */
export const askedAlternatives = 8;
export const maxExchanges = 100;

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const typed = v.pipe(v.string(), v.maxLength(longestQuestion));
const name = v.pipe(v.string(), v.maxLength(400));
const pair = v.nullable(v.tuple([v.string(), v.string()]));
const tags = v.nullable(v.object({ think: pair, answer: pair }));
const numbers = v.array(v.nullable(v.number()));

export const samplingSchema = v.object({
	/** 0 always picks the most probable token. */
	temperature: v.pipe(v.number(), v.minValue(0), v.maxValue(10)),
	topP: v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
	/** Maximum number of tokens per completion. */
	maxTokens: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maxTokens)),
	seed: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2 ** 31 - 1)),
	samples: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maxSamples)),
});
export type PlaygroundSampling = v.InferOutput<typeof samplingSchema>;

/**
 * How to format the question: with the policy's own template, with none, or with a custom template in which the
 * question replaces `{prompt}`.
 */
export const templateChoiceSchema = v.variant('mode', [
	v.object({ mode: v.literal('own') }),
	v.object({ mode: v.literal('raw') }),
	v.object({
		mode: v.literal('custom'),
		text: v.pipe(
			typed,
			v.check((text) => text.includes('{prompt}'), 'The template must contain {prompt} where the question goes.'),
		),
	}),
]);
export type TemplateChoice = v.InferOutput<typeof templateChoiceSchema>;

/** The policy selected for one side, with the information available without querying it. */
export const chosenPolicySchema = v.object({
	spec: policySpecSchema,
	name,
	/** Short description of the policy type. */
	kind: name,
	/** The policy's own template; null if it has none or sends questions as messages. */
	template: v.nullable(typed),
	/** The policy's system message; null if it does not support one. */
	system: v.nullable(typed),
	/** Name of the environment that it was trained in; null if there is none. */
	environment: v.optional(v.nullable(name), null),
	/** Temperature used in training; null if unknown. */
	temperature: v.nullable(v.number()),
	maxTokens: v.nullable(v.number()),
});
export type ChosenPolicy = v.InferOutput<typeof chosenPolicySchema>;

/** One entry per token, limited to what the view shows. */
export const tokenDetailSchema = v.object({
	text: v.array(v.string()),
	logprob: numbers,
	entropy: v.optional(numbers),
	top: v.optional(v.array(v.array(v.tuple([v.string(), v.number()])))),
	partial: v.optional(v.boolean()),
});
export type PlaygroundTokens = v.InferOutput<typeof tokenDetailSchema>;

const checkSchema = v.object({
	/** Whether the answer matches the expected one; null if that is unknown. */
	correct: v.nullable(v.boolean()),
	/** Rewards from the run's recipe, or only accuracy for a policy without a recipe. */
	rewards: v.array(v.object({ name, value: v.nullable(v.number()), error: v.nullable(v.string()) })),
});
export type AnswerCheck = v.InferOutput<typeof checkSchema>;

export const sampleSchema = v.object({
	/** The full completion, including any given prefix. */
	text: v.string(),
	/** Length of the given prefix in characters: the text before a branch plus the chosen token. */
	given: whole,
	/** `cut`: reached the playground's character limit. null: not finished. */
	finish: v.nullable(v.picklist(['end', 'stop', 'length', 'refusal', 'context', 'cut', 'stopped'])),
	/** Number of generated tokens. */
	tokens: whole,
	promptTokens: v.nullable(whole),
	detail: v.nullable(tokenDetailSchema),
	/** Most likely tokens for each latent thought before the completion, with their log-probabilities. */
	thoughts: v.optional(v.array(v.array(v.tuple([v.string(), v.number()])))),
	check: v.nullable(checkSchema),
});
export type PlaygroundSample = v.InferOutput<typeof sampleSchema>;

export const sideSchema = v.object({
	policy: policySpecSchema,
	name,
	/** Model name as reported by the policy; null until the policy is opened. */
	model: v.nullable(name),
	tags,
	/** Prompt as sent to the policy. */
	prompt: v.string(),
	system: v.nullable(v.string()),
	can: v.object({ logprobs: v.boolean(), alternatives: whole, prefix: v.boolean(), seed: v.boolean() }),
	state: v.picklist(['opening', 'writing', 'checking', 'finished', 'stopped', 'failed']),
	failure: v.nullable(failureDataSchema),
	/** Notes about how the policy was queried, one sentence each. */
	notes: v.array(v.string()),
	/** Duration of the request; null if not yet known. */
	seconds: v.nullable(v.number()),
	samples: v.pipe(v.array(sampleSchema), v.maxLength(maxSamples)),
});
export type PlaygroundSide = v.InferOutput<typeof sideSchema>;

/** Where an exchange branches off from another. */
export const branchSchema = v.object({
	exchange: whole,
	side: whole,
	sample: whole,
	/** Index of the replaced token, with its old and new text. */
	token: whole,
	from: v.string(),
	to: v.string(),
});
export type PlaygroundBranch = v.InferOutput<typeof branchSchema>;

export const exchangeSchema = v.object({
	/** Increasing, never reused. */
	id: whole,
	branch: v.nullable(branchSchema),
	question: typed,
	/** Expected answer, or '' if there is none. */
	expected: typed,
	sampling: samplingSchema,
	template: templateChoiceSchema,
	sides: v.pipe(v.array(sideSchema), v.minLength(1), v.maxLength(2)),
});
export type Exchange = v.InferOutput<typeof exchangeSchema>;

const history = {
	/** The displayed exchange, or null. */
	current: v.nullable(whole),
	undone: whole,
};

/** Panel -> view. */
export const playgroundEventSchema = v.variant('type', [
	/** Full state, sent when a view opens or after major changes. */
	v.object({
		type: v.literal('snapshot'),
		policies: v.tuple([v.nullable(chosenPolicySchema), v.nullable(chosenPolicySchema)]),
		/** Why this window cannot query policies; null if it can. */
		forbidden: v.nullable(v.string()),
		/** Takes precedence over the view's own saved state, which is older. */
		exchanges: v.array(exchangeSchema),
		...history,
	}),
	v.object({
		type: v.literal('policies'),
		policies: v.tuple([v.nullable(chosenPolicySchema), v.nullable(chosenPolicySchema)]),
		forbidden: v.nullable(v.string()),
	}),
	/** A new or changed exchange. */
	v.object({ type: v.literal('exchange'), exchange: exchangeSchema, ...history }),
	/** Text added during generation. */
	v.object({
		type: v.literal('written'),
		exchange: whole,
		side: whole,
		parts: v.array(v.object({ sample: whole, text: v.string() })),
	}),
	/** The displayed exchange has changed, or some exchanges were undone. */
	v.object({ type: v.literal('history'), kept: v.array(whole), ...history }),
]);
export type PlaygroundEvent = v.InferOutput<typeof playgroundEventSchema>;

const at = { exchange: whole, side: whole, sample: whole };

/** View -> panel. */
export const playgroundCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	v.object({
		type: v.literal('ask'),
		question: v.pipe(typed, v.minLength(1)),
		expected: typed,
		sampling: samplingSchema,
		template: templateChoiceSchema,
		/** System message; null uses the policy's own. */
		system: v.nullable(typed),
	}),
	/** Continues with a token other than the one sampled. */
	v.object({
		type: v.literal('branch'),
		...at,
		token: whole,
		text: v.pipe(v.string(), v.minLength(1), v.maxLength(1000)),
	}),
	v.object({ type: v.literal('stop') }),
	v.object({ type: v.literal('choosePolicy'), side: v.picklist([0, 1]) }),
	/** Plays an episode with a policy. */
	v.object({ type: v.literal('playEpisode'), side: v.picklist([0, 1]) }),
	v.object({ type: v.literal('addServer') }),
	v.object({ type: v.literal('removeSide') }),
	v.object({ type: v.literal('swap') }),
	v.object({ type: v.literal('show'), exchange: whole }),
	v.object({ type: v.literal('undo') }),
	v.object({ type: v.literal('redo') }),
	v.object({ type: v.literal('clear') }),
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type PlaygroundCommand = v.InferOutput<typeof playgroundCommandSchema>;

export const playgroundRequests = {
	/** Checks the answers in an exchange against an expected answer. */
	check: { params: v.object({ exchange: whole, expected: typed }), result: v.object({}) },
	/** Adds a completion to a case file; `saved` is false if the user canceled. */
	saveCase: { params: v.object(at), result: v.object({ saved: v.boolean(), file: v.string() }) },
	copy: { params: v.object({ ...at, as: v.picklist(['completion', 'api']) }), result: v.object({}) },
} as const;

/** State that the view keeps across reloads: user input, and as much of the history as fits. */
export const playgroundStateSchema = v.object({
	form: v.object({
		question: typed,
		expected: typed,
		/** Field contents as typed; invalid numbers are reported on submit. */
		fields: v.record(v.string(), v.pipe(v.string(), v.maxLength(40))),
		mode: v.picklist(['own', 'raw', 'custom']),
		template: typed,
		/** null if unchanged. */
		system: v.nullable(typed),
		tokens: v.boolean(),
	}),
	policies: v.tuple([v.nullable(chosenPolicySchema), v.nullable(chosenPolicySchema)]),
	exchanges: v.array(exchangeSchema),
	current: v.nullable(whole),
});
export type PlaygroundState = v.InferOutput<typeof playgroundStateSchema>;
