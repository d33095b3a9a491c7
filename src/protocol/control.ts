import * as v from 'valibot';
import { grpoStageSchema } from './recipeKeys/groupStages.ts';
import { liveEntries } from './recipeKeys/liveKeys.ts';
import { runRecordSchema } from './runRecord.ts';

/** Version of the engine's control protocol. Clients also support the previous version. */
export const controlVersion = 1;

const empty = v.object({});

/**
 * Hyperparameters that can be changed during a run. GRPO supports all of these keys; other stages support some of them.
 */
export const hyperparametersSchema = v.strictObject(liveEntries(grpoStageSchema));
export type Hyperparameters = v.InferOutput<typeof hyperparametersSchema>;

const numbers = v.array(v.number());
const whole = v.pipe(v.number(), v.integer(), v.minValue(1));
const samples = v.pipe(whole, v.maxValue(1024));

/** Most likely tokens in descending order, with their log-probabilities in nats. */
const likelyTokens = v.array(v.tuple([v.string(), v.number()]));

/** One entry per token, in nats. Statistics cover the full distribution from which the token was sampled. */
const tokenSchema = v.object({
	text: v.array(v.string()),
	logprob: numbers,
	entropy: numbers,
	varentropy: v.optional(numbers),
	gini: v.optional(numbers),
	variance: v.optional(numbers),
	/** Requires `alternatives`. */
	top: v.optional(v.array(likelyTokens)),
});
export type TokenLists = v.InferOutput<typeof tokenSchema>;

/** Why a completion ended: the policy ended it, a stop string occurred, or the token or context limit was reached. */
export const finishReasons = ['end', 'stop', 'length'] as const;

/**
 * Heads that assign values to text, listed in capabilities as `head.value` etc. The first two predict the probability
 * of reaching a correct answer, 0..1. `reward` is a score for which only differences are meaningful; `critic` is an
 * expected return.
 */
export const headNames = ['value', 'process', 'reward', 'critic'] as const;
export type HeadName = (typeof headNames)[number];

/** Capabilities other than methods: extensions of `policy/generate`, and heads. */
export const controlExtensions = {
	/** `n` and `maxTokens` can be lists, `seeds` is supported, and results include `finish` and token counts. */
	many: 'generate.many',
	/** Supports `alternatives`, and distribution statistics with `logprobs`. */
	distribution: 'generate.distribution',
	head: (name: HeadName): string => `head.${name}`,
} as const;

/** All client requests to an engine: JSON-RPC 2.0 with Content-Length framing over a local socket. */
export const controlMethods = {
	initialize: {
		params: v.object({ protocol: v.number(), token: v.string(), client: v.string() }),
		result: v.object({
			protocol: v.number(),
			run: v.string(),
			serving: v.boolean(),
			capabilities: v.array(v.string()),
		}),
	},
	'run/status': { params: empty, result: runRecordSchema },
	'run/pause': { params: empty, result: runRecordSchema },
	'run/continue': { params: empty, result: runRecordSchema },
	'run/stop': { params: v.object({ checkpoint: v.boolean() }), result: runRecordSchema },
	/**
	 * Stops the running stage after writing a checkpoint. Supported only by pipeline runners. The response is sent once
	 * the pipeline has stopped.
	 */
	'pipeline/stop': { params: empty, result: empty },
	'run/checkpoint': { params: empty, result: v.object({ path: v.string() }) },
	'run/setHyperparameters': { params: hyperparametersSchema, result: v.object({ fromStep: v.number() }) },
	'policy/generate': {
		params: v.object({
			prompts: v.array(v.string()),
			/** Number of completions per prompt: one number for all prompts, or a list. */
			n: v.optional(v.union([samples, v.array(samples)]), 1),
			temperature: v.optional(v.pipe(v.number(), v.minValue(0)), 1),
			topP: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
			/** Maximum tokens per completion: one number for all prompts, or a list. */
			maxTokens: v.optional(v.union([whole, v.array(whole)])),
			stop: v.optional(v.array(v.string()), []),
			logprobs: v.optional(v.boolean(), false),
			/** How many of the most likely tokens to return at each position. If positive, includes `logprobs`. */
			alternatives: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(20)), 0),
			seed: v.optional(v.number(), 0),
			/**
			 * One seed per prompt, as an alternative to `seed`. Each prompt's completions are the same as in a separate
			 * request.
			 */
			seeds: v.optional(numbers),
		}),
		/** completions[prompt][sample]. Optional fields are missing from older engines' replies. */
		result: v.object({
			completions: v.array(
				v.array(
					v.object({
						/** Text without the stop string. */
						text: v.string(),
						truncated: v.boolean(),
						finish: v.optional(v.picklist(finishReasons)),
						/** The stop string that ended the completion. */
						stopText: v.optional(v.string()),
						/** Number of generated tokens, including the stop string and the end-of-sequence token. */
						generated: v.optional(v.number()),
						/** Total log-probability of the generated tokens, in nats. */
						logprob: v.optional(v.number()),
						tokens: v.optional(tokenSchema),
						/** Latent thoughts before the completion, decoded by the output head. Sent with `tokens`. */
						thoughts: v.optional(v.array(likelyTokens)),
					}),
				),
			),
			/** Number of tokens in each prompt. */
			promptTokens: v.optional(numbers),
		}),
	},
	'policy/score': {
		params: v.object({
			prompts: v.array(v.string()),
			completions: v.array(v.string()),
			temperature: v.optional(v.pipe(v.number(), v.minValue(0.01)), 1),
			reference: v.optional(v.boolean(), false),
		}),
		/** Log-probability of each completion token, one list per pair. */
		result: v.object({ logprobs: v.array(numbers) }),
	},
	'policy/value': {
		params: v.object({
			prompts: v.array(v.string()),
			/** Completions, which can be partial. '' returns the value of the prompt. */
			completions: v.array(v.string()),
			head: v.picklist(headNames),
			/** Whether to also return the value after each token. */
			tokens: v.optional(v.boolean(), false),
		}),
		/**
		 * Probability that each pair leads to a correct answer (0..1). `tokens`: value after the prompt and after each
		 * token.
		 */
		result: v.object({ values: numbers, tokens: v.optional(v.array(numbers)) }),
	},
} as const;

export type ControlMethod = keyof typeof controlMethods;

/**
 * Former method names. Engines still accept them, and clients use them with engines that do not support the new names.
 */
export const formerMethods: Readonly<Record<string, ControlMethod>> = { 'run/resume': 'run/continue' };
export type ControlParams<M extends ControlMethod> = v.InferInput<(typeof controlMethods)[M]['params']>;
export type ControlRequest<M extends ControlMethod> = v.InferOutput<(typeof controlMethods)[M]['params']>;
export type ControlResult<M extends ControlMethod> = v.InferOutput<(typeof controlMethods)[M]['result']>;

/** Notification from the engine that the run's files have changed. Clients then read the files. */
export const runChanged = 'run/changed';
