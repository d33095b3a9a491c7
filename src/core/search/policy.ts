import type { Failure } from '../../base/failure.ts';
import type { HeadName } from '../../protocol/control.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';

/** What a policy was found to do when it was tried; nothing here is taken from a name. */
export interface PolicyCapabilities {
	/** Tells log-probabilities of the tokens that it generates. */
	readonly logprobs: boolean;
	/** How many alternatives it tells at each token; 0: none. */
	readonly alternatives: number;
	/** Entropy and the like are of the whole distribution, not of the alternatives alone. */
	readonly distribution: boolean;
	/** Goes on from a given beginning of its completion. */
	readonly prefix: boolean;
	/** Gives the same text for the same seed. */
	readonly seed: boolean;
	/** Takes instructions: messages with roles, and so critiques, judging, planning. */
	readonly instructions: boolean;
	/** Tells the log-probability of a text that it is given. */
	readonly score: boolean;
	/** Its heads: `value`, one for steps (`process`), a reward model (`reward`), the critic that its training left. */
	readonly heads: readonly HeadName[];
}

export interface GenerateRequest {
	/** The conversation so far. A policy without instructions takes the content of the one user message as its prompt. */
	readonly messages: readonly ChatMessage[];
	/** Beginning of the completion, which the generations go on from without repeating it; '': from the start. */
	readonly prefix: string;
	/** Generations that are wanted, each with a random stream of its own. */
	readonly n: number;
	/** 0: the most probable token each time. */
	readonly temperature: number;
	readonly topP: number;
	/** Of each generation. */
	readonly maxTokens: number;
	/** Texts that end a generation; they are not part of its text. */
	readonly stop: readonly string[];
	readonly seed: number;
	/** Per token: 0: nothing; 1: log-probability and entropy; more: as many alternatives as well. */
	readonly tokens: number;
	/** A JSON Schema that the text is to follow; a policy that cannot be held to one leaves it alone. */
	readonly schema?: Readonly<Record<string, unknown>>;
}

/** Lists are parallel, one entry a token; null: not told. Nats. */
export interface TokenDetail {
	readonly text: readonly string[];
	readonly logprob: readonly (number | null)[];
	readonly entropy?: readonly (number | null)[];
	readonly varentropy?: readonly (number | null)[];
	readonly gini?: readonly (number | null)[];
	readonly variance?: readonly (number | null)[];
	readonly top?: readonly (readonly (readonly [text: string, logprob: number])[])[];
	/** The statistics are of the alternatives alone. */
	readonly partial?: boolean;
}

export interface Generation {
	/** Without the prefix and without the stop text. May be empty. */
	readonly text: string;
	/** `end`: the policy ended it; `stop`: a stop text did; `length`: tokens or context did; `refusal`: it declined. */
	readonly finish: 'end' | 'stop' | 'length' | 'refusal';
	/** The stop text; the strategy puts it back where it belongs to the text. */
	readonly stopText?: string;
	/** Tokens that were generated, those of the stop text included; an estimate where the policy does not count. */
	readonly tokens: number;
	/** Tokens of what it was given; null: not told. */
	readonly promptTokens: number | null;
	/** Summed over its tokens, nats; null: not told. */
	readonly logprob: number | null;
	readonly detail: TokenDetail | null;
	/** In the currency of the policy's prices; null: it has none. */
	readonly cost?: number | null;
}

/** The generations of one request, or why there are none: one request's failure is not the others'. */
export type Generated = readonly Generation[] | Failure;

/**
 * A model as search sees it. What is behind it, and when a call is cancelled, is not its business: who binds a policy to a
 * search does that (src/search). Every call settles.
 */
export interface Policy {
	readonly name: string;
	readonly capabilities: PolicyCapabilities;
	/** One entry a request, in their order. It rejects with `cancelled` alone, or when the policy is gone for good. */
	generate(requests: readonly GenerateRequest[]): Promise<readonly Generated[]>;
	/** Log-probability of each token of a completion, nats; there when `capabilities.score`. */
	score?(items: readonly PolicyText[]): Promise<readonly (readonly number[])[]>;
	/** Value of each text as it stands, in 0..1 by `value` and `process`; there when `capabilities.heads` has the head. */
	value?(items: readonly PolicyText[], head: HeadName): Promise<readonly number[]>;
}

export interface PolicyText {
	readonly messages: readonly ChatMessage[];
	/** The completion so far. */
	readonly completion: string;
}
