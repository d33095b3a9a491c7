import type { IDisposable } from '../base/disposable.ts';
import type { GenerateRequest, Generation, Policy, PolicyCapabilities, TokenDetail } from '../core/search/policy.ts';
import type { TagPair } from '../core/text/template.ts';
import type { TraceTags } from '../core/trace/trace.ts';
import type { ChatMessage, ChatToolCall } from '../protocol/scorer.ts';

/** Options for opening a policy, provided by the program that opens it. */
export interface PolicyContext {
	/** API keys by `policyKeyName`. A key is sent only to its own policy's server. */
	readonly keys?: Readonly<Record<string, string>>;
	/** Path to the engine, dist/engine.js, which serves checkpoints. */
	readonly engine: string;
	/** Path to the Node.js executable for the engine. Default: the one running this process. */
	readonly node?: string;
	/** Client name recorded in engine logs. */
	readonly client: string;
	/** Aborts opening. Has no effect on a policy that is already open. */
	readonly signal?: AbortSignal;
	/** Base folder for relative script and checkpoint paths. */
	readonly folder: string;
	/**
	 * Environment used to look up `keyVariable`, API keys by origin (`REASONING_LAB_API_KEYS`), and the Python
	 * interpreter that serves pytorch engine checkpoints. Default: empty.
	 */
	readonly environment?: Readonly<Record<string, string | undefined>>;
	/**
	 * Environment variables that the user allows as API keys. A policy that names any other variable is rejected:
	 * policies come from files, and a file must not choose which secrets are sent where. Default: none.
	 */
	readonly keyVariables?: readonly string[];
	/** Sends prompts to checkpoints and engines verbatim, without the run's template. Default: false. */
	readonly rawPrompts?: boolean;
	/** How long to keep an unused checkpoint served for the next search, in milliseconds. Default: 0. */
	readonly idleMs?: number;
}

/** A policy's total usage so far. */
export interface PolicyTotals {
	readonly requests: number;
	/** Prompt and generated tokens. Estimated where the policy did not report counts. */
	readonly promptTokens: number;
	readonly tokens: number;
	/** Total cost, or null if the policy has no price. */
	readonly cost: number | null;
	readonly currency: string | null;
	/** Number of requests retried after a transient failure. */
	readonly retries: number;
}

/** Part of a generation in progress. */
export interface GeneratedText {
	readonly request: GenerateRequest;
	/** Index among the `n` generations. */
	readonly index: number;
	/** Text added since the previous part. */
	readonly text: string;
}

export interface BindOptions {
	/** Cancels pending requests. Their promises reject with `cancelled`. */
	readonly signal: AbortSignal;
	/** If the policy streams, receives text as it is generated. Otherwise, receives each completed text once. */
	readonly onText?: (text: GeneratedText) => void;
	/** Tags for reasoning that a server returns separately from the answer. Default: `<think>`, `</think>`. */
	readonly think?: readonly [open: string, close: string] | null;
}

/** How a policy writes episodes as text. */
export interface EpisodeForm {
	/** Tags around a call by the policy, and around its result. */
	readonly call: TagPair;
	readonly result: TagPair;
	/** Text that follows each of the policy's turns. */
	readonly end: string;
	/** Escapes tags in text from an environment. */
	plain(text: string): string;
}

/** An open policy. The caller must dispose of it, which rejects pending requests. */
export interface OpenPolicy extends IDisposable {
	/** Display name. */
	readonly name: string;
	/** What generates the completions: the server's model name, or a run and step. */
	readonly model: string;
	readonly capabilities: PolicyCapabilities;
	/** Tags around the reasoning and the answer in completions, or null if unknown. */
	readonly tags: TraceTags | null;
	/** Context length in tokens, for prompt and completion together, or null if unknown. */
	readonly context: number | null;
	readonly totals: PolicyTotals;
	/** Notes for the user on features that were tried and failed. */
	readonly notes: readonly string[];
	/** Whether the policy enforces a request's JSON Schema. Default: false. */
	readonly schemas?: boolean;
	/** Name of the environment that it was trained in; null or absent if there is none. */
	readonly environment?: string | null;
	/** Episode format; absent if the policy was not trained on episodes. */
	readonly episodes?: EpisodeForm | null;
	/** Tokenizer for prompts given as token IDs, or null if not available. */
	readonly tokenizer?: PolicyTokenizer | null;
	/** Defined if the policy reports log-probabilities for existing text. Fails with the same errors as `generate`. */
	readonly read?: ((request: ReadRequest, signal: AbortSignal) => Promise<ReadText>) | undefined;
	/**
	 * Defined if the policy supports tools. Fails with the same errors as `generate`, or with `unsupported` if it turns
	 * out that the policy does not accept tools.
	 */
	readonly callTools?: ((request: ToolRequest, signal: AbortSignal) => Promise<ToolReply>) | undefined;
	bind(options: BindOptions): Policy;
}

export interface PolicyTokenizer {
	/** Throws `invalid` for an ID outside the vocabulary. */
	decode(ids: readonly number[]): string;
	/** IDs of tokens that have no text. One at the beginning marks the start of a sequence. */
	readonly special: readonly number[];
}

/** Text to read verbatim, without the run's template, and optionally to continue. */
export interface ReadRequest {
	readonly text: string;
	/** How many of the most probable tokens to report per position. */
	readonly alternatives: number;
	/** Maximum number of tokens to generate; 0 for no continuation. */
	readonly maxTokens: number;
	readonly temperature: number;
	readonly topP: number;
	readonly stop: readonly string[];
	readonly seed: number;
}

export interface ReadText {
	/**
	 * Details for each token of the text, conditioned on the preceding tokens. Log-probabilities are in nats at
	 * temperature 1.
	 */
	readonly tokens: TokenDetail;
	/** The continuation, or null if none was requested. */
	readonly more: Generation | null;
}

/** A function that a model can call, in OpenAI's chat format. */
export interface ChatTool {
	readonly type: 'function';
	readonly function: {
		readonly name: string;
		readonly description?: string;
		/** JSON Schema for the arguments. */
		readonly parameters?: Readonly<Record<string, unknown>>;
		readonly strict?: boolean | null;
	};
}

/**
 * Available tools and the tool choice: `required` means that the model must call at least one tool, and a function name
 * means that it must call that function.
 */
export interface OfferedTools {
	readonly tools: readonly ChatTool[];
	readonly choice:
		| 'auto'
		| 'none'
		| 'required'
		| { readonly type: 'function'; readonly function: { readonly name: string } };
	/** Whether a response can contain several calls, or null for the server's default. */
	readonly parallel: boolean | null;
}

export interface ToolRequest extends OfferedTools {
	readonly messages: readonly ChatMessage[];
	readonly temperature: number;
	readonly topP: number;
	readonly maxTokens: number;
	readonly seed: number;
	/** Tags for reasoning that a server returns separately from the answer. */
	readonly think: readonly [open: string, close: string];
}

export interface ToolReply {
	/**
	 * Tool calls. Empty if the policy answered with text only. If the finish reason is `length`, the last call may be
	 * truncated.
	 */
	readonly calls: readonly ChatToolCall[];
	/** Text outside the calls, and the usage of the whole response. */
	readonly generation: Generation;
}
