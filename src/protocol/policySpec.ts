import * as v from 'valibot';

/** API used to query an OpenAI-compatible server. */
export const policyApis = ['chat', 'completions'] as const;
export type PolicyApi = (typeof policyApis)[number];

const text = v.pipe(v.string(), v.minLength(1));
const positive = v.pipe(v.number(), v.minValue(0));

/** Server capabilities that the user sets because probing cannot detect them reliably; omitted ones are probed. */
export const serverAbilitiesSchema = v.strictObject({
	/** How the server continues a prefix (see policies/openai/abilities.ts), or false if it cannot. */
	prefix: v.optional(v.union([v.literal(false), v.picklist(['prompt', 'continue', 'assistant', 'flag'])])),
	/** Number of alternatives per token; false if the server reports no log-probabilities. */
	logprobs: v.optional(v.union([v.literal(false), v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(20))])),
	stream: v.optional(v.picklist(['no', 'plain', 'usage'])),
	/** Whether one request can return several choices. */
	many: v.optional(v.boolean()),
	seed: v.optional(v.boolean()),
	/** Whether the server can constrain output to a JSON Schema. */
	schema: v.optional(v.boolean()),
	stops: v.optional(v.picklist(['told', 'kept', 'untold', 'refused'])),
	/** Whether the server reports log-probabilities for existing text (completions with `echo`). */
	score: v.optional(v.boolean()),
});
export type ServerAbilities = v.InferOutput<typeof serverAbilitiesSchema>;

/** Location of a policy. Stored in settings and tree logs, so it contains no API keys. */
export const policySpecSchema = v.variant('kind', [
	/** An embedded-engine checkpoint: folder `checkpoints/<step>` in a run. Served on demand. */
	v.object({ kind: v.literal('checkpoint'), folder: text }),
	/** The engine of a run that is training, with its current weights. */
	v.object({ kind: v.literal('engine'), run: text }),
	/** Any server with an OpenAI-compatible completions or chat API. */
	v.object({
		kind: v.literal('openai'),
		/** Display name, also used to look up the API key in secret storage. */
		name: text,
		/** Includes the path up to /v1. */
		baseUrl: text,
		model: text,
		api: v.optional(v.picklist(policyApis), 'chat'),
		/** Environment variable with the API key, for the command line. */
		keyVariable: v.optional(text),
		/** System message for chat; template with {prompt} for completions. */
		system: v.optional(v.string()),
		template: v.optional(v.string()),
		/** Prices per million tokens. */
		price: v.optional(v.object({ input: positive, output: positive, currency: v.optional(text, 'USD') })),
		requestsPerMinute: v.optional(positive),
		/** Maximum number of concurrent requests. Default 8. */
		parallel: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(4096))),
		/** Request timeout. Default 120. */
		timeoutSeconds: v.optional(positive),
		/** Maximum number of retries after transient failures: 429, 5xx, a lost connection. Default 4. */
		retries: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100))),
		/** Overrides probed capabilities. */
		abilities: v.optional(serverAbilitiesSchema),
		/** Added to every request unchanged. */
		extra: v.optional(v.record(v.string(), v.unknown())),
	}),
	/** Replays text from a file, for tests and for learning how a strategy works. */
	v.object({ kind: v.literal('scripted'), file: text }),
]);
export type PolicySpec = v.InferOutput<typeof policySpecSchema>;
export type PolicySpecOf<K extends PolicySpec['kind']> = Extract<PolicySpec, { readonly kind: K }>;
