import type { Failure } from '../../base/failure.ts';
import type { HeadName } from '../../protocol/control.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';

/** Capabilities of a policy found by probing it; nothing is inferred from its name. */
export interface PolicyCapabilities {
	/** Returns log-probabilities of the tokens that it generates. */
	readonly logprobs: boolean;
	/** Number of alternatives returned per token; 0: none. */
	readonly alternatives: number;
	/** Whether entropy and related statistics cover the whole distribution, not just the alternatives. */
	readonly distribution: boolean;
	/** Can continue a given prefix of its completion. */
	readonly prefix: boolean;
	/** Returns the same text for the same seed. */
	readonly seed: boolean;
	/** Follows instructions: messages with roles, hence critiques, judging and planning. */
	readonly instructions: boolean;
	/** Returns the log-probability of a given text. */
	readonly score: boolean;
	/** Its heads: `value`, one for steps (`process`), a reward model (`reward`), the critic left by its training. */
	readonly heads: readonly HeadName[];
}

export interface GenerateRequest {
	/**
	 * The conversation so far. A policy without instructions uses the content of the single user message as its prompt.
	 */
	readonly messages: readonly ChatMessage[];
	/** Prefix of the completion, which the generations continue without repeating it; '': from the start. */
	readonly prefix: string;
	/** Number of generations, each with its own random stream. */
	readonly n: number;
	/** 0: greedy. */
	readonly temperature: number;
	readonly topP: number;
	/** Per generation. */
	readonly maxTokens: number;
	/** Stop texts; they are not part of the generated text. */
	readonly stop: readonly string[];
	readonly seed: number;
	/** Token details. 0: none; 1: log-probability and entropy; more: also that many alternatives. */
	readonly tokens: number;
	/** A JSON Schema that the text should follow; ignored by policies that cannot enforce one. */
	readonly schema?: Readonly<Record<string, unknown>>;
}

/** Parallel lists, one entry per token; null: unknown. Nats. */
export interface TokenDetail {
	readonly text: readonly string[];
	readonly logprob: readonly (number | null)[];
	readonly entropy?: readonly (number | null)[];
	readonly varentropy?: readonly (number | null)[];
	readonly gini?: readonly (number | null)[];
	readonly variance?: readonly (number | null)[];
	readonly top?: readonly (readonly (readonly [text: string, logprob: number])[])[];
	/** Whether the statistics cover the alternatives only. */
	readonly partial?: boolean;
}

export interface Generation {
	/** Without the prefix and the stop text. May be empty. */
	readonly text: string;
	/**
	 * `end`: finished by the policy; `stop`: by a stop text; `length`: by the token limit or context; `refusal`:
	 * declined.
	 */
	readonly finish: 'end' | 'stop' | 'length' | 'refusal';
	/** The stop text; the strategy restores it if it belongs to the text. */
	readonly stopText?: string;
	/** Generated tokens, including those of the stop text; an estimate if the policy does not count them. */
	readonly tokens: number;
	/** Prompt tokens; null: unknown. */
	readonly promptTokens: number | null;
	/** Sum over the tokens, nats; null: unknown. */
	readonly logprob: number | null;
	readonly detail: TokenDetail | null;
	/** In the currency of the policy's prices; null if it has none. */
	readonly cost?: number | null;
}

/** The generations of one request, or its failure; requests fail independently. */
export type Generated = readonly Generation[] | Failure;

/**
 * A model as seen by search. The implementation behind it and cancellation are the concern of the caller that binds a
 * policy to a search (src/search). Every call settles.
 */
export interface Policy {
	readonly name: string;
	readonly capabilities: PolicyCapabilities;
	/** Returns one entry per request, in order. Rejects only with `cancelled`, or if the policy is gone for good. */
	generate(requests: readonly GenerateRequest[]): Promise<readonly Generated[]>;
	/** Log-probability of each token of a completion, nats; present if `capabilities.score`. */
	score?(items: readonly PolicyText[]): Promise<readonly (readonly number[])[]>;
	/** Value of each text, in 0..1 for `value` and `process`; present if `capabilities.heads` has the head. */
	value?(items: readonly PolicyText[], head: HeadName): Promise<readonly number[]>;
}

export interface PolicyText {
	readonly messages: readonly ChatMessage[];
	/** The completion so far. */
	readonly completion: string;
}
