import * as v from 'valibot';

/** How an OpenAI-compatible server is asked. */
export const policyApis = ['chat', 'completions'] as const;
export type PolicyApi = (typeof policyApis)[number];

const text = v.pipe(v.string(), v.minLength(1));
const positive = v.pipe(v.number(), v.minValue(0));

/** What a server can do, where its person knows better than a few requests can tell; what is left out is tried. */
export const serverAbilitiesSchema = v.strictObject({
	/** How it continues the beginning of an answer: see policies/openai/abilities.ts; false: it does not. */
	prefix: v.optional(v.union([v.literal(false), v.picklist(['prompt', 'continue', 'assistant', 'flag'])])),
	/** Alternatives at each token; false: it reports no log-probabilities. */
	logprobs: v.optional(v.union([v.literal(false), v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(20))])),
	stream: v.optional(v.picklist(['no', 'plain', 'usage'])),
	/** Several choices in one request. */
	many: v.optional(v.boolean()),
	seed: v.optional(v.boolean()),
	/** Keeps to JSON Schemas. */
	schema: v.optional(v.boolean()),
	stops: v.optional(v.picklist(['told', 'kept', 'untold', 'refused'])),
	/** Reports the log-probabilities of a given text (completions with `echo`). */
	score: v.optional(v.boolean()),
});
export type ServerAbilities = v.InferOutput<typeof serverAbilitiesSchema>;

/** Where a policy is to be found. Kept in settings and in tree logs: no keys in it. */
export const policySpecSchema = v.variant('kind', [
	/** A checkpoint of the embedded engine: folder `checkpoints/<step>` of a run. It is served when it is used. */
	v.object({ kind: v.literal('checkpoint'), folder: text }),
	/** The engine of a run that training now, with the weights that it has. */
	v.object({ kind: v.literal('engine'), run: text }),
	/** Any server that speaks OpenAI's completions or chat. */
	v.object({
		kind: v.literal('openai'),
		/** As people call it; the key in the secret storage has this name. */
		name: text,
		/** With the path up to /v1. */
		baseUrl: text,
		model: text,
		api: v.optional(v.picklist(policyApis), 'chat'),
		/** Name of an environment variable that holds the key, for the command line. */
		keyVariable: v.optional(text),
		/** System message for chat; template with {prompt} for completions. */
		system: v.optional(v.string()),
		template: v.optional(v.string()),
		/** Currency per million tokens. */
		price: v.optional(v.object({ input: positive, output: positive, currency: v.optional(text, 'USD') })),
		requestsPerMinute: v.optional(positive),
		/** Requests under way at a time. Default 8. */
		parallel: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(4096))),
		/** Of a request without an answer. Default 120. */
		timeoutSeconds: v.optional(positive),
		/** Retries of what may pass: 429, 5xx, a lost connection. Default 4. */
		retries: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100))),
		/** Instead of what trying it finds. */
		abilities: v.optional(serverAbilitiesSchema),
		/** Passed through in every request. */
		extra: v.optional(v.record(v.string(), v.unknown())),
	}),
	/** A text that is played: for tests and for learning how a strategy works. */
	v.object({ kind: v.literal('scripted'), file: text }),
]);
export type PolicySpec = v.InferOutput<typeof policySpecSchema>;
export type PolicySpecOf<K extends PolicySpec['kind']> = Extract<PolicySpec, { readonly kind: K }>;
