import * as v from 'valibot';
import { runRecordSchema } from './runRecord.ts';

/** Version of the engine's control protocol; a client also speaks the one before. */
export const controlVersion = 1;

const empty = v.object({});

export const hyperparametersSchema = v.strictObject({
	learning_rate: v.optional(v.pipe(v.number(), v.minValue(0))),
	beta: v.optional(v.pipe(v.number(), v.minValue(0))),
	epsilon: v.optional(v.pipe(v.number(), v.minValue(0))),
	epsilon_high: v.optional(v.pipe(v.number(), v.minValue(0))),
	temperature: v.optional(v.pipe(v.number(), v.minValue(0.01))),
});
export type Hyperparameters = v.InferOutput<typeof hyperparametersSchema>;

const numbers = v.array(v.number());
const tokenSchema = v.object({ text: v.array(v.string()), logprob: numbers, entropy: numbers });

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
	'run/resume': { params: empty, result: runRecordSchema },
	'run/stop': { params: v.object({ checkpoint: v.boolean() }), result: runRecordSchema },
	'run/checkpoint': { params: empty, result: v.object({ path: v.string() }) },
	'run/setHyperparameters': { params: hyperparametersSchema, result: v.object({ fromStep: v.number() }) },
	'policy/generate': {
		params: v.object({
			prompts: v.array(v.string()),
			n: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1024)), 1),
			temperature: v.optional(v.pipe(v.number(), v.minValue(0)), 1),
			topP: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
			maxTokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
			stop: v.optional(v.array(v.string()), []),
			logprobs: v.optional(v.boolean(), false),
			seed: v.optional(v.number(), 0),
		}),
		/** completions[prompt][sample] */
		result: v.object({
			completions: v.array(
				v.array(v.object({ text: v.string(), truncated: v.boolean(), tokens: v.optional(tokenSchema) })),
			),
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
} as const;

export type ControlMethod = keyof typeof controlMethods;
export type ControlParams<M extends ControlMethod> = v.InferInput<(typeof controlMethods)[M]['params']>;
export type ControlRequest<M extends ControlMethod> = v.InferOutput<(typeof controlMethods)[M]['params']>;
export type ControlResult<M extends ControlMethod> = v.InferOutput<(typeof controlMethods)[M]['result']>;

/** Notification of the engine: the run's files have news; readers then read the files. */
export const runChanged = 'run/changed';
