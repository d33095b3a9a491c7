/** Speaker role, independent of the format. */
export type TranscriptRole = 'system' | 'user' | 'assistant' | 'tool' | 'other';

/** Token counts for one model call, as reported by the provider. */
export interface TokenUsage {
	/** Number of tokens read, including cached tokens. */
	readonly prompt: number;
	readonly completion: number;
	/** Total as reported by the provider; null if not reported. */
	readonly total: number | null;
	/** Cached tokens, which are included in the prompt. */
	readonly cached: number | null;
	/** Reasoning tokens, which are included in the completion. */
	readonly reasoning: number | null;
}

/** Tool call requested by a model. */
export interface ToolCall {
	readonly id: string | null;
	readonly name: string;
	/** Parsed arguments; undefined if `fault` is set. */
	readonly arguments: unknown;
	/** Arguments as written, or formatted as JSON. */
	readonly text: string;
	readonly fault: string | null;
}

/** Tool result. */
export interface ToolResult {
	readonly callId: string | null;
	/** Error status in the log; null if the format has none. */
	readonly failed: boolean | null;
}

export interface TranscriptMessage {
	/** 0-based index in the transcript. */
	readonly index: number;
	readonly role: TranscriptRole;
	/** Message name in the file: `AIMessage`, `assistant`. */
	readonly label: string;
	/** Name of the tool or speaker. */
	readonly name: string | null;
	readonly text: string;
	/** Reasoning stored separately from the text. */
	readonly thinking: string;
	readonly calls: readonly ToolCall[];
	/** Tool result; only for tool messages. */
	readonly result: ToolResult | null;
	readonly usage: TokenUsage | null;
	/** Second, conflicting token usage in the same message. */
	readonly otherUsage: TokenUsage | null;
	readonly model: string | null;
	readonly finishReason: string | null;
	/** Types of non-text parts: `image`, `audio`. */
	readonly attachments: readonly string[];
	/** Descriptions of differences between two records of the same call. */
	readonly contradictions: readonly string[];
	/** 1-based line and column in the file; null if unknown. */
	readonly place: Place | null;
}

export interface Place {
	readonly line: number;
	readonly column: number;
}

/** Tool declared in the file. */
export interface DeclaredTool {
	readonly name: string;
	/** JSON Schema for the arguments; null if not declared. */
	readonly schema: unknown;
}

/** Call with its results. */
export interface CallLink {
	readonly message: number;
	/** Index of the call within the message. */
	readonly call: number;
	/** Messages that contain a result for the call; more than one is a fault. */
	readonly results: readonly number[];
}

/** Single conversation in a file. */
export interface Transcript {
	/** Title in the file, or the line number. */
	readonly title: string;
	readonly messages: readonly TranscriptMessage[];
	readonly tools: readonly DeclaredTool[];
	/** Links in message order, one per call. */
	readonly links: readonly CallLink[];
	/** Messages that contain results for unknown calls. */
	readonly orphans: readonly number[];
}

/** Error in a part that could not be read. */
export interface TranscriptFault {
	readonly place: Place | null;
	readonly message: string;
}

export type TranscriptFormat = 'python' | 'json' | 'jsonl' | 'rollout';

export interface TranscriptFile {
	readonly format: TranscriptFormat;
	readonly transcripts: readonly Transcript[];
	readonly faults: readonly TranscriptFault[];
	/** Number of additional faults that are not stored. */
	readonly moreFaults: number;
}

/** Position in a transcript, for navigation. */
export interface MessagePlace {
	readonly message: number;
	/** Index of the call; null for the message itself. */
	readonly call: number | null;
}
