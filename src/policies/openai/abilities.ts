import type { PolicyCapabilities } from '../../core/search/policy.ts';
import type { PolicyApi } from '../../protocol/policySpec.ts';

/** How a server continues from a prefix of the answer. */
export type PrefixStyle =
	/** The prefix is appended to the prompt (completions API). */
	| 'prompt'
	/** It is the last message, with `continue_final_message` (vLLM, SGLang). */
	| 'continue'
	/** It is the last message, without a parameter that marks it as a prefix (llama.cpp, Ollama). */
	| 'assistant'
	/** It is the last message and has `prefix: true` (Mistral, DeepSeek). */
	| 'flag';

/** Detected capabilities of a model on a server, and the request parameters it expects. */
export interface OpenAiAbilities {
	readonly lengthField: 'max_tokens' | 'max_completion_tokens';
	readonly temperature: boolean;
	readonly topP: boolean;
	/** `usage`: the stream ends with token counts. */
	readonly stream: 'no' | 'plain' | 'usage';
	/** Number of alternatives reported per token, or null if the server does not return log-probabilities. */
	readonly logprobs: number | null;
	/** Whether one request can return several choices. */
	readonly many: boolean;
	/** Whether the server accepts seeds and generates the same text for the same seed. */
	readonly seed: boolean;
	/** Whether the server rejects requests with a seed. */
	readonly refusesSeed: boolean;
	readonly prefix: PrefixStyle | null;
	/** Whether a continuation repeats the prefix first. */
	readonly echoesPrefix: boolean;
	/** Whether the server enforces JSON Schemas in `response_format`. */
	readonly schema: boolean;
	/**
	 * Stop string support. `told`: the server reports which one ended the text. `kept`: the text includes it. `untold`:
	 * text ended by a stop string is indistinguishable from text that ended on its own. `refused`: stop strings are
	 * rejected or ignored.
	 */
	readonly stops: 'told' | 'kept' | 'untold' | 'refused';
	/** Whether the server returns log-probabilities of existing text (completions with `echo`). */
	readonly score: boolean;
	/** Whether the server returns reasoning separately from the answer. */
	readonly reasoning: boolean;
	/** Short sample of generated text. */
	readonly sample: string;
	/** Notes on features that were tried and failed. */
	readonly notes: readonly string[];
}

export function capabilitiesOf(abilities: OpenAiAbilities, api: PolicyApi): PolicyCapabilities {
	return {
		logprobs: abilities.logprobs !== null,
		alternatives: abilities.logprobs ?? 0,
		distribution: false,
		prefix: abilities.prefix !== null,
		seed: abilities.seed,
		instructions: api === 'chat',
		score: abilities.score,
		heads: [],
	};
}
