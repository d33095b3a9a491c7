import type { IDisposable } from '../base/disposable.ts';
import type { GenerateRequest, Policy, PolicyCapabilities } from '../core/search/policy.ts';
import type { TraceTags } from '../core/trace/trace.ts';

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
	/** Where `keyVariable` is looked up, and which Python serves checkpoints of the pytorch engine. Default: none are there. */
	readonly environment?: Readonly<Record<string, string | undefined>>;
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
	/** Tags for thinking that a server tells apart from the answer. Default: `<think>`, `</think>`. */
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
	bind(options: BindOptions): Policy;
}
