import * as v from 'valibot';
import { grpoStageSchema } from './groupStages.ts';
import { liveEntries } from './liveKeys.ts';
import { runRecordSchema } from './runRecord.ts';

/** Version of the engine's control protocol; a client also speaks the one before. */
export const controlVersion = 1;

const empty = v.object({});

/** What may be changed while a run is running: GRPO has every such key, and other stages some of them. */
export const hyperparametersSchema = v.strictObject(liveEntries(grpoStageSchema));
export type Hyperparameters = v.InferOutput<typeof hyperparametersSchema>;

const numbers = v.array(v.number());
const whole = v.pipe(v.number(), v.integer(), v.minValue(1));
const samples = v.pipe(whole, v.maxValue(1024));

/** One entry a token, nats. The statistics are of the whole distribution that the token was drawn from. */
const tokenSchema = v.object({
	text: v.array(v.string()),
	logprob: numbers,
	entropy: numbers,
	varentropy: v.optional(numbers),
	gini: v.optional(numbers),
	variance: v.optional(numbers),
	/** With `alternatives`: the most likely tokens, most likely first, with their log-probabilities. */
	top: v.optional(v.array(v.array(v.tuple([v.string(), v.number()])))),
});
export type TokenLists = v.InferOutput<typeof tokenSchema>;

/** Why a completion ended: the policy ended it, a stop text did, or its tokens or the context did. */
export const finishReasons = ['end', 'stop', 'length'] as const;

/**
 * Heads that give values to texts; capabilities tell them as `head.value` and so on. The first two say how likely a text
 * comes to a right answer, 0..1; `reward` is a score whose differences count alone, `critic` an expected return.
 */
export const headNames = ['value', 'process', 'reward', 'critic'] as const;
export type HeadName = (typeof headNames)[number];

/** What an engine tells beside the methods that it answers: additions to `policy/generate`, and its heads. */
export const controlExtensions = {
	/** `n` and `maxTokens` may be lists, and there may be `seeds`; completions tell their `finish` and their cost. */
	many: 'generate.many',
	/** `alternatives`, and the statistics of the distribution with `logprobs`. */
	distribution: 'generate.distribution',
	head: (name: HeadName): string => `head.${name}`,
} as const;

/** Every request of a client to an engine: JSON-RPC 2.0, Content-Length framing, over a local socket. */
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
	/** Of a pipeline's runner: stops the running stage with a checkpoint; answered when the pipeline has stopped. */
	'pipeline/stop': { params: empty, result: empty },
	'run/checkpoint': { params: empty, result: v.object({ path: v.string() }) },
	'run/setHyperparameters': { params: hyperparametersSchema, result: v.object({ fromStep: v.number() }) },
	'policy/generate': {
		params: v.object({
			prompts: v.array(v.string()),
			/** Completions a prompt: one number for all, or one each. */
			n: v.optional(v.union([samples, v.array(samples)]), 1),
			temperature: v.optional(v.pipe(v.number(), v.minValue(0)), 1),
			topP: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
			/** Of a completion: one number for all, or one a prompt. */
			maxTokens: v.optional(v.union([whole, v.array(whole)])),
			stop: v.optional(v.array(v.string()), []),
			logprobs: v.optional(v.boolean(), false),
			/** The most likely tokens at each place; with any, `logprobs` are told too. */
			alternatives: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(20)), 0),
			seed: v.optional(v.number(), 0),
			/** One a prompt, in place of `seed`: its completions are those that it would have in a request of its own. */
			seeds: v.optional(numbers),
		}),
		/** completions[prompt][sample]; what is optional is missing where the engine is older. */
		result: v.object({
			completions: v.array(
				v.array(
					v.object({
						/** Without the stop text. */
						text: v.string(),
						truncated: v.boolean(),
						finish: v.optional(v.picklist(finishReasons)),
						/** The one that ended it. */
						stopText: v.optional(v.string()),
						/** Tokens that were generated for it, those of the stop text and the end of sequence included. */
						generated: v.optional(v.number()),
						/** Log-probability of them all, nats. */
						logprob: v.optional(v.number()),
						tokens: v.optional(tokenSchema),
					}),
				),
			),
			/** Of each prompt. */
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
			/** As far as they go; '' gives the value of the prompt. */
			completions: v.array(v.string()),
			head: v.picklist(headNames),
			/** Also after each token. */
			tokens: v.optional(v.boolean(), false),
		}),
		/** How likely each pair, as it stands, comes to a right answer (0..1); `tokens`: after the prompt and after each token. */
		result: v.object({ values: numbers, tokens: v.optional(v.array(numbers)) }),
	},
} as const;

export type ControlMethod = keyof typeof controlMethods;

/** Former names of methods: engines still accept them, and clients use them with engines that know no other. */
export const formerMethods: Readonly<Record<string, ControlMethod>> = { 'run/resume': 'run/continue' };
export type ControlParams<M extends ControlMethod> = v.InferInput<(typeof controlMethods)[M]['params']>;
export type ControlRequest<M extends ControlMethod> = v.InferOutput<(typeof controlMethods)[M]['params']>;
export type ControlResult<M extends ControlMethod> = v.InferOutput<(typeof controlMethods)[M]['result']>;

/** Notification of the engine: the run's files have news; readers then read the files. */
export const runChanged = 'run/changed';
