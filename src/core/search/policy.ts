import type { Failure } from '../../base/failure.ts';
import type { HeadName } from '../../protocol/control.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';

/** Policy capabilities, as determined by probing; nothing is inferred from the model name. */
export interface PolicyCapabilities {
	/** Whether it returns the log-probabilities of generated tokens. */
	readonly logprobs: boolean;
	/** Number of alternatives returned per token; 0 if unsupported. */
	readonly alternatives: number;
	/** Whether entropy and related statistics cover the whole distribution rather than just the alternatives. */
	readonly distribution: boolean;
	/** Whether it can continue a given prefix of a completion. */
	readonly prefix: boolean;
	/** Whether the same seed gives the same text. */
	readonly seed: boolean;
	/** Whether it follows instructions in messages with roles, as needed for critiques, judging and planning. */
	readonly instructions: boolean;
	/** Whether it can return the log-probability of existing text. */
	readonly score: boolean;
	/** Available heads: `value`, step scores (`process`), a reward model (`reward`), and the critic from training. */
	readonly heads: readonly HeadName[];
}

/** A tool call in a turn of an episode, with its result as the policy reads it. */
export interface TurnCall {
	readonly name: string;
	/** Any value that the policy wrote; only an object can be a valid call. */
	readonly arguments: unknown;
	readonly result: string;
	/** Whether the tool raised an exception; if so, the result is its message. */
	readonly failed: boolean;
	readonly seconds?: number;
}

/** A turn of an episode: the policy's text and its calls. */
export interface SearchTurn {
	/** Text that the policy wrote, without results. */
	readonly text: string;
	/** Empty if the turn ended the episode, or if it is incomplete. */
	readonly calls: readonly TurnCall[];
}

export interface GenerateRequest {
	/**
	 * Conversation so far. A policy that does not follow instructions uses the content of the single user message as its
	 * prompt.
	 */
	readonly messages: readonly ChatMessage[];
	/** Prefix of the completion, which generations continue without repeating it; '' starts a new completion. */
	readonly prefix: string;
	/** Number of generations, each with its own random stream. */
	readonly n: number;
	/** Sampling temperature; 0 is greedy. */
	readonly temperature: number;
	readonly topP: number;
	/** Token limit per generation. */
	readonly maxTokens: number;
	/** Stop strings, which are excluded from the generated text. */
	readonly stop: readonly string[];
	readonly seed: number;
	/** Level of token detail: 0 for none, 1 for log-probability and entropy, n > 1 for up to n alternatives as well. */
	readonly tokens: number;
	/** JSON Schema that the text should follow; ignored by policies that cannot enforce one. */
	readonly schema?: Readonly<Record<string, unknown>>;
	/** The prefix as episode turns; only for policies that play episodes. */
	readonly turns?: readonly SearchTurn[];
}

/** Parallel lists with one entry per token, in nats; null if unknown. */
export interface TokenDetail {
	readonly text: readonly string[];
	readonly logprob: readonly (number | null)[];
	readonly entropy?: readonly (number | null)[];
	readonly varentropy?: readonly (number | null)[];
	readonly gini?: readonly (number | null)[];
	readonly variance?: readonly (number | null)[];
	readonly top?: readonly (readonly (readonly [text: string, logprob: number])[])[];
	/** Whether the statistics cover only the alternatives. */
	readonly partial?: boolean;
}

export interface Generation {
	/** Generated text without the prefix and the stop string. May be empty. */
	readonly text: string;
	/**
	 * `end`: finished by the policy; `stop`: reached a stop string; `length`: reached the token limit or context size;
	 * `refusal`: declined by the policy.
	 */
	readonly finish: 'end' | 'stop' | 'length' | 'refusal';
	/** Stop string that was reached; the strategy restores it if it is part of the text. */
	readonly stopText?: string;
	/** Number of generated tokens, including the stop string; estimated if the policy does not report it. */
	readonly tokens: number;
	/** Number of prompt tokens; null if unknown. */
	readonly promptTokens: number | null;
	/** Sum of the token log-probabilities, in nats; null if unknown. */
	readonly logprob: number | null;
	readonly detail: TokenDetail | null;
	/** Most likely tokens for each latent thought before the text, with their log-probabilities; absent if there are none. */
	readonly thoughts?: readonly (readonly (readonly [text: string, logprob: number])[])[];
	/** Cost in the currency of the policy's prices; null if it has no prices. */
	readonly cost?: number | null;
	/** The episode turn that makes up the text. */
	readonly turn?: PlayedTurn;
	/** The episode turns that make up the text; they become a chain of nodes. */
	readonly turns?: readonly Generation[];
}

/** Outcome of an episode turn. */
export interface PlayedTurn {
	/** Number of leading characters written by the policy; the rest are tool results. */
	readonly written: number;
	readonly calls: readonly TurnCall[];
	/** Reward of the episode, if it ended; null if it has none. */
	readonly reward?: number | null;
	/** Why the episode failed. */
	readonly fault?: string;
}

/** Generations for one request, or its failure; requests fail independently. */
export type Generated = readonly Generation[] | Failure;

/**
 * Model interface used by search. The caller that binds a policy to a search (src/search) is responsible for the
 * implementation and for cancellation. Every call settles.
 */
export interface Policy {
	readonly name: string;
	readonly capabilities: PolicyCapabilities;
	/** Whether it plays episodes, where a step is a whole turn with the results of its calls. Default: false. */
	readonly plays?: boolean;
	/**
	 * Returns one entry per request, in order. Rejects only with `cancelled`, or if the policy is permanently
	 * unavailable.
	 */
	generate(requests: readonly GenerateRequest[]): Promise<readonly Generated[]>;
	/** Returns the log-probability of each token in a completion, in nats. Present if `capabilities.score` is set. */
	score?(items: readonly PolicyText[]): Promise<readonly (readonly number[])[]>;
	/**
	 * Returns a value for each item, in 0..1 for `value` and `process`. Present if `capabilities.heads` includes the
	 * head.
	 */
	value?(items: readonly PolicyText[], head: HeadName): Promise<readonly number[]>;
}

export interface PolicyText {
	readonly messages: readonly ChatMessage[];
	/** Completion so far. */
	readonly completion: string;
}
