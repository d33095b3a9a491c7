import type { IDisposable } from '../base/disposable.ts';
import type { GenerateRequest, Generation, Policy, PolicyCapabilities, TokenDetail } from '../core/search/policy.ts';
import type { TraceTags } from '../core/trace/trace.ts';
import type { ChatMessage, ChatToolCall } from '../protocol/scorer.ts';

/** What opening a policy takes from the program that opens it. */
export interface PolicyContext {
	/** API keys by `policyKeyName`; one is sent to that policy's own server alone. */
	readonly keys?: Readonly<Record<string, string>>;
	/** The engine's program, dist/engine.js: it serves checkpoints. */
	readonly engine: string;
	/** The node program for it; default: this process's own. */
	readonly node?: string;
	/** What the logs of engines call this program. */
	readonly client: string;
	/** Ends opening; not what is open. */
	readonly signal?: AbortSignal;
	/** Where relative paths of scripts and checkpoints start. */
	readonly folder: string;
	/**
	 * Where `keyVariable` is looked up, keys by origin (`REASONING_LAB_API_KEYS`) are, and which Python serves checkpoints of the
	 * pytorch engine. Default: none are there.
	 */
	readonly environment?: Readonly<Record<string, string | undefined>>;
	/**
	 * Names of the environment variables that the person has named as keys. A policy that names another one is refused: files name
	 * policies, and a file does not choose which secret is sent where. Default: none.
	 */
	readonly keyVariables?: readonly string[];
	/** Checkpoints and engines get what they are asked as it stands, without their run's template. Default: with it. */
	readonly rawPrompts?: boolean;
	/** How long a checkpoint that nobody uses stays served, for the next search, in milliseconds. Default 0. */
	readonly idleMs?: number;
}

/** What has been used so far, by all that is bound to a policy. */
export interface PolicyTotals {
	readonly requests: number;
	/** Tokens that it was given and that it generated; those that it did not count are estimated. */
	readonly promptTokens: number;
	readonly tokens: number;
	/** null: it has no price. */
	readonly cost: number | null;
	readonly currency: string | null;
	/** Requests that were made again after a failure that may pass. */
	readonly retries: number;
}

/** A part of a generation that is still being written. */
export interface GeneratedText {
	readonly request: GenerateRequest;
	/** Which of its `n` generations. */
	readonly index: number;
	/** What was added since the last time. */
	readonly text: string;
}

export interface BindOptions {
	/** Cancels what is under way; its promises reject with `cancelled`. */
	readonly signal: AbortSignal;
	/** Hears texts while they are written, where the policy streams; else each text once, when it is there. */
	readonly onText?: (text: GeneratedText) => void;
	/** Tags for thinking that a server distinguishes from the answer. Default: `<think>`, `</think>`. */
	readonly think?: readonly [open: string, close: string] | null;
}

/** A policy that can be used. Whoever opened it disposes it; what is under way then rejects. */
export interface OpenPolicy extends IDisposable {
	/** As people call it. */
	readonly name: string;
	/** What answers: the server's name of the model, a run and a step. */
	readonly model: string;
	readonly capabilities: PolicyCapabilities;
	/** Tags around the thinking and the answer of what it writes; null: nothing is known of them. */
	readonly tags: TraceTags | null;
	/** Tokens of prompt and completion together; null: it is not known. */
	readonly context: number | null;
	readonly totals: PolicyTotals;
	/** What was tried and did not work, in words; for people. */
	readonly notes: readonly string[];
	/** Keeps to the JSON Schema of a request. Default: it does not. */
	readonly schemas?: boolean;
	/** Its vocabulary, for prompts that are token ids; null or missing: it is not known here. */
	readonly tokenizer?: PolicyTokenizer | null;
	/** There where the policy reports the log-probabilities of a text it is given. Fails as `generate`. */
	readonly read?: ((request: ReadRequest, signal: AbortSignal) => Promise<ReadText>) | undefined;
	/**
	 * There where the policy can be offered tools. Fails as `generate`, and with `unsupported` where it turns out not to take them.
	 */
	readonly callTools?: ((request: ToolRequest, signal: AbortSignal) => Promise<ToolReply>) | undefined;
	bind(options: BindOptions): Policy;
}

export interface PolicyTokenizer {
	/** Throws `invalid` for an id outside the vocabulary. */
	decode(ids: readonly number[]): string;
	/** Ids that stand for no text: a leading one of them begins a sequence. */
	readonly special: readonly number[];
}

/** A text to be read as it stands, without the template of the run, and to be continued. */
export interface ReadRequest {
	readonly text: string;
	/** Most probable tokens that are reported at each place. */
	readonly alternatives: number;
	/** Tokens to continue it with; 0: none. */
	readonly maxTokens: number;
	readonly temperature: number;
	readonly topP: number;
	readonly stop: readonly string[];
	readonly seed: number;
}

export interface ReadText {
	/** Each token of the text given what is before it, nats at temperature 1. */
	readonly tokens: TokenDetail;
	/** What follows it; null: nothing was asked for. */
	readonly more: Generation | null;
}

/** A function that a model may call, as OpenAI's chat has it. */
export interface ChatTool {
	readonly type: 'function';
	readonly function: {
		readonly name: string;
		readonly description?: string;
		/** JSON Schema of the arguments. */
		readonly parameters?: Readonly<Record<string, unknown>>;
		readonly strict?: boolean | null;
	};
}

/** Tools, and whether they are to be called: `required` by any call, or by one of a certain function. */
export interface OfferedTools {
	readonly tools: readonly ChatTool[];
	readonly choice:
		| 'auto'
		| 'none'
		| 'required'
		| { readonly type: 'function'; readonly function: { readonly name: string } };
	/** Several calls in one reply; null: as the server has it. */
	readonly parallel: boolean | null;
}

export interface ToolRequest extends OfferedTools {
	readonly messages: readonly ChatMessage[];
	readonly temperature: number;
	readonly topP: number;
	readonly maxTokens: number;
	readonly seed: number;
	/** Tags for thinking that a server reports apart from the answer. */
	readonly think: readonly [open: string, close: string];
}

export interface ToolReply {
	/** None: the policy answered with a text alone. With `length` as the generation's finish the last may be truncated. */
	readonly calls: readonly ChatToolCall[];
	/** The text beside the calls, and what the whole reply took. */
	readonly generation: Generation;
}
