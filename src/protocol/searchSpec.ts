import * as v from 'valibot';
import { type PolicySpec, policySpecSchema } from './policySpec.ts';
import { searchBudgetSchema } from './treeLog.ts';

const text = v.pipe(v.string(), v.minLength(1));
/** Tokens of one completion: beyond any model's context, and below what a program could be made to reserve for nothing. */
export const maxCompletionTokens = 10_000_000;
const count = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maxCompletionTokens));

/**
 * What gives values to thoughts.
 * - `reward`: a reward of the lab: built-in as recipes spell it, or a file with a reward's name; `oracle` when it has the gold
 *   answer to look at (`gold: true`)
 * - `value`, `process`, `reward-model`: heads of an embedded model (`model`: a checkpoint folder; default: the policy's own)
 * - `process-reward`: the built-in process reward model by ONNX file or HTTP
 * - `self-evaluation`: the policy judges; `judge`: another policy does
 * - `mean-logprob`, `self-certainty`: of the policy's own probabilities; `majority`: share of final nodes with its answer
 */
export const scorerSpecSchema = v.variant('use', [
	v.object({
		use: v.literal('reward'),
		/** A built-in reward or `{file, name}`, spelt as in a recipe. */
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
]);
export type ScorerSpec = v.InferOutput<typeof scorerSpecSchema>;

/** Scorers that need no more than their name. */
export const plainScorers: readonly string[] = [
	'self-evaluation',
	'mean-logprob',
	'self-certainty',
	'majority',
	'value',
	'process',
	'reward-model',
];

/**
 * A tool of an agent (the strategy `reflexion`).
 * - `workspace`: searches the texts of a folder; `dataset`: the rows of a JSONL file
 * - `calculator`: exact arithmetic; `code`: runs a program in the sandbox that the person has chosen, or not at all
 * - `web`: asks a search server (docs/reflexion.md); no keys in here
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
		/** Its API key is that of its origin, and goes nowhere else. */
		url: text,
		timeoutSeconds: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(300)), 20),
	}),
]);
export type ToolSpec = v.InferOutput<typeof toolSpecSchema>;
export type ToolSpecOf<K extends ToolSpec['use']> = Extract<ToolSpec, { readonly use: K }>;

export const samplingSpecSchema = v.object({
	temperature: v.optional(v.pipe(v.number(), v.minValue(0)), 1),
	topP: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
	/** Default: what the policy's context allows, at most 4096. */
	maxTokens: v.optional(count),
	maxStepTokens: v.optional(count, 256),
	/** Per token: 0 nothing, 1 log-probability and entropy, more: as many alternatives. */
	tokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(20)), 0),
});

/** A search as a person sets it up; a tree log keeps it, so that the search can continue. */
export const searchSpecSchema = v.object({
	policy: policySpecSchema,
	strategy: text,
	/** Of the strategy, by its own schema. */
	params: v.optional(v.record(v.string(), v.unknown()), {}),
	/** Guides the search. null: the strategy needs none. */
	guide: v.optional(v.nullable(scorerSpecSchema), null),
	/** Chooses among what is final; default: the guide. */
	judge: v.optional(v.nullable(scorerSpecSchema), null),
	/** What an agent may ask; strategies without tools leave them alone. */
	tools: v.optional(v.array(toolSpecSchema), []),
	sampling: v.optional(samplingSpecSchema, {}),
	/** A rule of splitSteps, `completion`, or `{text}`: an end-of-step text. */
	split: v.optional(v.union([text, v.object({ text })]), 'lines'),
	/** Tags around the thinking and the answer; null: none. Default: the template's of the run, else `<think>`, `<answer>`. */
	tags: v.optional(v.object({ think: v.nullable(v.tuple([text, text])), answer: v.nullable(v.tuple([text, text])) })),
	budget: v.optional(searchBudgetSchema, {}),
	concurrency: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(256)), 8),
	seed: v.optional(v.number(), 0),
});
export type SearchSpec = v.InferOutput<typeof searchSpecSchema>;
/** Names of the environment variables that its policies ask keys of. */
export function keyNamesOf({ policy, guide, judge }: SearchSpec): string[] {
	const judges = [guide, judge].flatMap((one) => (one?.use === 'judge' ? [one.policy] : []));
	return [policy, ...judges].flatMap((one) =>
		one.kind === 'openai' && one.keyVariable !== undefined ? [one.keyVariable] : [],
	);
}

/** Without the names of keys: what somebody else has written does not choose which key is sent. */
export function withoutKeyNames(spec: SearchSpec): SearchSpec {
	const scorer = (one: ScorerSpec | null): ScorerSpec | null =>
		one?.use === 'judge' ? { ...one, policy: keyless(one.policy) } : one;
	return { ...spec, policy: keyless(spec.policy), guide: scorer(spec.guide), judge: scorer(spec.judge) };
}

/** As {@link withoutKeyNames}, of one policy. */
export function keyless(policy: PolicySpec): PolicySpec {
	if (policy.kind !== 'openai') return policy;
	const { keyVariable: _, ...rest } = policy;
	return rest;
}

export type SearchSpecInput = v.InferInput<typeof searchSpecSchema>;
