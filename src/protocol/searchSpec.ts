import * as v from 'valibot';
import { type PolicySpec, policySpecSchema } from './policySpec.ts';
import { searchBudgetSchema } from './treeLog.ts';

const text = v.pipe(v.string(), v.minLength(1));
/**
 * Token limit for a completion: larger than any model's context, but small enough that a program cannot be made to
 * reserve excessive memory.
 */
export const maxCompletionTokens = 10_000_000;
const count = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maxCompletionTokens));

/**
 * Scorers for thoughts.
 * - `reward`: a reward, either a built-in one as written in recipes or a file plus reward name. It is an `oracle` if
 *   it can see the gold answer (`gold: true`)
 * - `value`, `process`, `reward-model`: heads of an embedded model (`model`: a checkpoint folder; default: the
 *   policy's own)
 * - `process-reward`: the built-in process reward model, from an ONNX file or over HTTP
 * - `self-evaluation`: the policy rates its own thoughts; `judge`: another policy does
 * - `environment`: the reward of an episode, from the search's environment
 * - `mean-logprob`, `self-certainty`: computed from the policy's probabilities; `majority`: fraction of final nodes
 *   with the same answer
 */
export const scorerSpecSchema = v.variant('use', [
	v.object({
		use: v.literal('reward'),
		/** A built-in reward or `{file, name}`, written as in a recipe. */
		reward: v.union([text, v.record(v.string(), v.unknown())]),
		gold: v.optional(v.boolean(), false),
	}),
	v.object({
		use: v.picklist(['value', 'process', 'reward-model']),
		model: v.optional(text),
		aggregate: v.optional(v.picklist(['last', 'min', 'prod', 'mean']), 'last'),
	}),
	v.object({
		use: v.literal('process-reward'),
		settings: v.record(v.string(), v.unknown()),
		aggregate: v.optional(v.picklist(['last', 'min', 'prod', 'mean']), 'last'),
	}),
	v.object({ use: v.picklist(['self-evaluation', 'mean-logprob', 'self-certainty', 'majority']) }),
	v.object({ use: v.literal('judge'), policy: policySpecSchema, prompt: v.optional(text) }),
	v.object({ use: v.literal('environment') }),
]);
export type ScorerSpec = v.InferOutput<typeof scorerSpecSchema>;

/** Scorers fully specified by their names. */
export const plainScorers: readonly string[] = [
	'self-evaluation',
	'mean-logprob',
	'self-certainty',
	'majority',
	'value',
	'process',
	'reward-model',
	'environment',
];

/**
 * A tool for an agent (the `reflexion` strategy).
 * - `workspace`: searches the text in a folder; `dataset`: searches the rows of a JSONL file
 * - `calculator`: exact arithmetic; `code`: runs a program in the sandbox that the user selected, never without one
 * - `web`: queries a search server (docs/reflexion.md); contains no API keys
 */
export const toolSpecSchema = v.variant('use', [
	v.object({ use: v.literal('workspace'), folder: text }),
	v.object({ use: v.literal('dataset'), file: text }),
	v.object({ use: v.literal('calculator') }),
	v.object({
		use: v.literal('code'),
		language: v.optional(v.picklist(['python', 'javascript']), 'python'),
		timeoutSeconds: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(300)), 10),
	}),
	v.object({
		use: v.literal('web'),
		/** The API key belongs to this URL's origin and is sent nowhere else. */
		url: text,
		timeoutSeconds: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(300)), 20),
	}),
]);
export type ToolSpec = v.InferOutput<typeof toolSpecSchema>;
export type ToolSpecOf<K extends ToolSpec['use']> = Extract<ToolSpec, { readonly use: K }>;

/** Environment for a search over episodes: a file, a package (folder or name), or a server address. */
export const searchEnvironmentSchema = v.object({
	file: v.optional(text),
	package: v.optional(text),
	server: v.optional(text),
	/** Arguments for a package or server. */
	arguments: v.optional(v.record(v.string(), v.unknown())),
	/** Maximum number of turns with calls per episode. */
	maxTurns: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10_000)), 20),
	/** Time limit for each reset, turn and reward. */
	turnSeconds: v.optional(v.pipe(v.number(), v.minValue(0.001), v.maxValue(86_400)), 10),
});
export type SearchEnvironment = v.InferOutput<typeof searchEnvironmentSchema>;

export const samplingSpecSchema = v.object({
	temperature: v.optional(v.pipe(v.number(), v.minValue(0)), 1),
	topP: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
	/** Default: as many as fit in the policy's context, up to 4096. */
	maxTokens: v.optional(count),
	maxStepTokens: v.optional(count, 256),
	/** Data per token: 0 none, 1 log-probability and entropy, larger values add that many alternatives. */
	tokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(20)), 0),
});

/** A search as the user configured it. Stored in the tree log so that the search can be continued. */
export const searchSpecSchema = v.object({
	policy: policySpecSchema,
	strategy: text,
	/** Strategy parameters, validated by the strategy's own schema. */
	params: v.optional(v.record(v.string(), v.unknown()), {}),
	/** Scorer that guides the search; null if the strategy needs none. */
	guide: v.optional(v.nullable(scorerSpecSchema), null),
	/** Scorer that selects among final nodes; default: the guide. */
	judge: v.optional(v.nullable(scorerSpecSchema), null),
	/** Tools available to an agent; other strategies ignore them. */
	tools: v.optional(v.array(toolSpecSchema), []),
	sampling: v.optional(samplingSpecSchema, {}),
	/** Makes each step a turn of an episode in this environment; `split` is then ignored, except for `completion`. */
	environment: v.optional(searchEnvironmentSchema),
	/** A splitSteps rule, `completion`, or `{text}` with an end-of-step string. */
	split: v.optional(v.union([text, v.object({ text })]), 'lines'),
	/**
	 * Tags around thinking and answer; null for none. Default: the tags in the run's template, otherwise `<think>`,
	 * `<answer>`.
	 */
	tags: v.optional(v.object({ think: v.nullable(v.tuple([text, text])), answer: v.nullable(v.tuple([text, text])) })),
	budget: v.optional(searchBudgetSchema, {}),
	concurrency: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(256)), 8),
	seed: v.optional(v.number(), 0),
});
export type SearchSpec = v.InferOutput<typeof searchSpecSchema>;
/** Returns the names of the environment variables with API keys for the search's policies. */
export function keyNamesOf({ policy, guide, judge }: SearchSpec): string[] {
	const judges = [guide, judge].flatMap((one) => (one?.use === 'judge' ? [one.policy] : []));
	return [policy, ...judges].flatMap((one) =>
		one.kind === 'openai' && one.keyVariable !== undefined ? [one.keyVariable] : [],
	);
}

/** Removes API key names, so that a spec from someone else cannot choose the key to send. */
export function withoutKeyNames(spec: SearchSpec): SearchSpec {
	const scorer = (one: ScorerSpec | null): ScorerSpec | null =>
		one?.use === 'judge' ? { ...one, policy: keyless(one.policy) } : one;
	return { ...spec, policy: keyless(spec.policy), guide: scorer(spec.guide), judge: scorer(spec.judge) };
}

/** Same as {@link withoutKeyNames}, for one policy. */
export function keyless(policy: PolicySpec): PolicySpec {
	if (policy.kind !== 'openai') return policy;
	const { keyVariable: _, ...rest } = policy;
	return rest;
}

export type SearchSpecInput = v.InferInput<typeof searchSpecSchema>;
