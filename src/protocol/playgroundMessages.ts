import * as v from 'valibot';
import { failureDataSchema } from './failureData.ts';
import { policySpecSchema } from './policySpec.ts';

/*
 * Messages between the playground (webview/playground) and its panel. The panel asks policies and keeps what they answered;
 * the view keeps what a person has typed and draws the rest. Both decode what they hear.
 */

/** Of a question, a template, a system message, in characters. */
export const longestQuestion = 200_000;
/** Of one completion, in characters: what is longer is truncated, and generation ends. */
export const longestCompletion = 400_000;
export const maxSamples = 8;
export const mostTokens = 32_768;
/** Tokens of a completion that are kept with their alternatives. */
export const maxDetails = 8192;
/** Alternatives that are asked for at each token. */
export const askedAlternatives = 8;
export const maxExchanges = 100;

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const typed = v.pipe(v.string(), v.maxLength(longestQuestion));
const name = v.pipe(v.string(), v.maxLength(400));
const pair = v.nullable(v.tuple([v.string(), v.string()]));
const tags = v.nullable(v.object({ think: pair, answer: pair }));
const numbers = v.array(v.nullable(v.number()));

export const samplingSchema = v.object({
	/** 0: the most probable token each time. */
	temperature: v.pipe(v.number(), v.minValue(0), v.maxValue(10)),
	topP: v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
	/** Of each completion. */
	maxTokens: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(mostTokens)),
	seed: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2 ** 31 - 1)),
	samples: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maxSamples)),
});
export type PlaygroundSampling = v.InferOutput<typeof samplingSchema>;

/** How the question is put: by the policy's own template, as it stands, or by a text in which `{prompt}` replaces it. */
export const templateChoiceSchema = v.variant('mode', [
	v.object({ mode: v.literal('own') }),
	v.object({ mode: v.literal('raw') }),
	v.object({
		mode: v.literal('custom'),
		text: v.pipe(
			typed,
			v.check((text) => text.includes('{prompt}'), 'The template needs {prompt} where the question goes.'),
		),
	}),
]);
export type TemplateChoice = v.InferOutput<typeof templateChoiceSchema>;

/** What a person has chosen on one side, as it is known without asking it anything. */
export const chosenPolicySchema = v.object({
	spec: policySpecSchema,
	name,
	/** What it is, in a few words. */
	kind: name,
	/** Its own template; null: it has none, or puts questions as messages. */
	template: v.nullable(typed),
	/** Its system message; null: it takes none. */
	system: v.nullable(typed),
	/** As it was trained with; null: not known. */
	temperature: v.nullable(v.number()),
	maxTokens: v.nullable(v.number()),
});
export type ChosenPolicy = v.InferOutput<typeof chosenPolicySchema>;

/** One entry a token; only what the view shows. */
export const tokenDetailSchema = v.object({
	text: v.array(v.string()),
	logprob: numbers,
	entropy: v.optional(numbers),
	top: v.optional(v.array(v.array(v.tuple([v.string(), v.number()])))),
	partial: v.optional(v.boolean()),
});
export type PlaygroundTokens = v.InferOutput<typeof tokenDetailSchema>;

const checkSchema = v.object({
	/** Whether the answer is the expected one; null: it was not told. */
	correct: v.nullable(v.boolean()),
	/** The rewards of the run's recipe; of a policy without one the accuracy alone. */
	rewards: v.array(v.object({ name, value: v.nullable(v.number()), error: v.nullable(v.string()) })),
});
export type AnswerCheck = v.InferOutput<typeof checkSchema>;

export const sampleSchema = v.object({
	/** The whole completion, what it was given of it included. */
	text: v.string(),
	/** Characters at its beginning that a person gave: those before a branch and the chosen token. */
	given: whole,
	/** `cut`: it had come to the limit of characters here. null: it is not done. */
	finish: v.nullable(v.picklist(['end', 'stop', 'length', 'refusal', 'context', 'cut', 'stopped'])),
	/** Tokens that were generated. */
	tokens: whole,
	promptTokens: v.nullable(whole),
	detail: v.nullable(tokenDetailSchema),
	check: v.nullable(checkSchema),
});
export type PlaygroundSample = v.InferOutput<typeof sampleSchema>;

export const sideSchema = v.object({
	policy: policySpecSchema,
	name,
	/** As it calls itself; null: it was not opened yet. */
	model: v.nullable(name),
	tags,
	/** What the policy was given, as text. */
	prompt: v.string(),
	system: v.nullable(v.string()),
	can: v.object({ logprobs: v.boolean(), alternatives: whole, prefix: v.boolean(), seed: v.boolean() }),
	state: v.picklist(['opening', 'writing', 'checking', 'finished', 'stopped', 'failed']),
	failure: v.nullable(failureDataSchema),
	/** What is worth knowing of how it was asked, in sentences. */
	notes: v.array(v.string()),
	/** From the request to its end; null: not known yet. */
	seconds: v.nullable(v.number()),
	samples: v.pipe(v.array(sampleSchema), v.maxLength(maxSamples)),
});
export type PlaygroundSide = v.InferOutput<typeof sideSchema>;

/** Where an exchange leaves another one. */
export const branchSchema = v.object({
	exchange: whole,
	side: whole,
	sample: whole,
	/** Place of the token that was taken there, and what it was. */
	token: whole,
	from: v.string(),
	to: v.string(),
});
export type PlaygroundBranch = v.InferOutput<typeof branchSchema>;

export const exchangeSchema = v.object({
	/** Grows; none is given twice. */
	id: whole,
	branch: v.nullable(branchSchema),
	question: typed,
	/** ''; none was given. */
	expected: typed,
	sampling: samplingSchema,
	template: templateChoiceSchema,
	sides: v.pipe(v.array(sideSchema), v.minLength(1), v.maxLength(2)),
});
export type Exchange = v.InferOutput<typeof exchangeSchema>;

const history = {
	/** The one that is shown; null: none. */
	current: v.nullable(whole),
	undone: whole,
};

/** Panel -> view. */
export const playgroundEventSchema = v.variant('type', [
	/** All there is; when a view has come up, or much has changed. */
	v.object({
		type: v.literal('snapshot'),
		policies: v.tuple([v.nullable(chosenPolicySchema), v.nullable(chosenPolicySchema)]),
		/** Why nothing is asked in this window; null: it may be. */
		forbidden: v.nullable(v.string()),
		/** The state that a view brings with it is older than what the panel has. */
		exchanges: v.array(exchangeSchema),
		...history,
	}),
	v.object({
		type: v.literal('policies'),
		policies: v.tuple([v.nullable(chosenPolicySchema), v.nullable(chosenPolicySchema)]),
		forbidden: v.nullable(v.string()),
	}),
	/** One that is new or has changed. */
	v.object({ type: v.literal('exchange'), exchange: exchangeSchema, ...history }),
	/** Text that was added while it is written. */
	v.object({
		type: v.literal('written'),
		exchange: whole,
		side: whole,
		parts: v.array(v.object({ sample: whole, text: v.string() })),
	}),
	/** Another one is shown, or some were taken back. */
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
		/** null: the policy's own. */
		system: v.nullable(typed),
	}),
	/** Continues from another token than the one that was taken. */
	v.object({
		type: v.literal('branch'),
		...at,
		token: whole,
		text: v.pipe(v.string(), v.minLength(1), v.maxLength(1000)),
	}),
	v.object({ type: v.literal('stop') }),
	v.object({ type: v.literal('choosePolicy'), side: v.picklist([0, 1]) }),
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
	/** Holds the answers of an exchange against an expected one. */
	check: { params: v.object({ exchange: whole, expected: typed }), result: v.object({}) },
	/** Adds a completion to a file of cases; `saved` is false where the user canceled. */
	saveCase: { params: v.object(at), result: v.object({ saved: v.boolean(), file: v.string() }) },
	copy: { params: v.object({ ...at, as: v.picklist(['completion', 'api']) }), result: v.object({}) },
} as const;

/** What the view keeps over a reload: what was typed, and of the history what there is room for. */
export const playgroundStateSchema = v.object({
	form: v.object({
		question: typed,
		expected: typed,
		/** As they are in the fields; what is not a number is found when one asks. */
		fields: v.record(v.string(), v.pipe(v.string(), v.maxLength(40))),
		mode: v.picklist(['own', 'raw', 'custom']),
		template: typed,
		/** null: nobody has changed it. */
		system: v.nullable(typed),
		tokens: v.boolean(),
	}),
	policies: v.tuple([v.nullable(chosenPolicySchema), v.nullable(chosenPolicySchema)]),
	exchanges: v.array(exchangeSchema),
	current: v.nullable(whole),
});
export type PlaygroundState = v.InferOutput<typeof playgroundStateSchema>;
