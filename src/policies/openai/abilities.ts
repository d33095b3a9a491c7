import type { PolicyCapabilities } from '../../core/search/policy.ts';
import type { PolicyApi } from '../../protocol/policySpec.ts';

/** How a server continues from the beginning of an answer. */
export type PrefixStyle =
	/** The beginning comes after the prompt (completions). */
	| 'prompt'
	/** It is the last message, with `continue_final_message` (vLLM, SGLang). */
	| 'continue'
	/** It is the last message, and nothing else says so (llama.cpp, Ollama). */
	| 'assistant'
	/** It is the last message and has `prefix: true` (Mistral, DeepSeek). */
	| 'flag';

/** What a model on a server was found to do, and in which words it wants to be asked. */
export interface OpenAiAbilities {
	readonly lengthField: 'max_tokens' | 'max_completion_tokens';
	readonly temperature: boolean;
	readonly topP: boolean;
	/** `usage`: with the counts of tokens at the end. */
	readonly stream: 'no' | 'plain' | 'usage';
	/** Alternatives that it tells for each token; null: it tells no log-probabilities. */
	readonly logprobs: number | null;
	/** Several choices in one request. */
	readonly many: boolean;
	/** Both: it takes a seed without a fault, and gives the same text for the same one. */
	readonly seed: boolean;
	/** It refuses requests with a seed. */
	readonly refusesSeed: boolean;
	readonly prefix: PrefixStyle | null;
	/** What continues repeats the beginning first. */
	readonly echoesPrefix: boolean;
	/** JSON Schemas of `response_format` are kept to. */
	readonly schema: boolean;
	/**
	 * Stop texts: `told`: it says which one ended a text; `kept`: the text has it at its end; `untold`: a text that a stop text
	 * ended looks like one that ended by itself; `refused`: it takes none, or does nothing with them.
	 */
	readonly stops: 'told' | 'kept' | 'untold' | 'refused';
	/** Log-probabilities of a given text (completions with `echo`). */
	readonly score: boolean;
	/** It gives its thinking apart from the answer. */
	readonly reasoning: boolean;
	/** A short text that it wrote. */
	readonly sample: string;
	/** What was tried and did not work, in words. */
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
