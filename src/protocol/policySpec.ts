import * as v from 'valibot';

const text = v.pipe(v.string(), v.minLength(1));
const positive = v.pipe(v.number(), v.minValue(0));

/** Where a policy is to be found. Kept in settings and in tree logs: no keys in it. */
export const policySpecSchema = v.variant('kind', [
	/** A checkpoint of the embedded engine: folder `checkpoints/<step>` of a run. It is served when it is used. */
	v.object({ kind: v.literal('checkpoint'), folder: text }),
	/** The engine of a run that trains now, with the weights that it has. */
	v.object({ kind: v.literal('engine'), run: text }),
	/** Any server that speaks OpenAI's completions or chat. */
	v.object({
		kind: v.literal('openai'),
		/** As people call it; the key in the secret storage has this name. */
		name: text,
		/** With the path up to /v1. */
		baseUrl: text,
		model: text,
		api: v.optional(v.picklist(['chat', 'completions']), 'chat'),
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
		/** Passed through in every request. */
		extra: v.optional(v.record(v.string(), v.unknown())),
	}),
	/** A text that is played: for tests and for learning how a strategy works. */
	v.object({ kind: v.literal('scripted'), file: text }),
]);
export type PolicySpec = v.InferOutput<typeof policySpecSchema>;
export type PolicySpecOf<K extends PolicySpec['kind']> = Extract<PolicySpec, { readonly kind: K }>;
