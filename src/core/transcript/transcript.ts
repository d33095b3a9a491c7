/** Speaker role, independent of the format. */
export type TranscriptRole = 'system' | 'user' | 'assistant' | 'tool' | 'other';

/** Token counts of one model call, as reported by the provider. */
export interface TokenUsage {
	/** All tokens read, including cached ones. */
	readonly prompt: number;
	readonly completion: number;
	/** As reported; null if not reported. */
	readonly total: number | null;
	/** Part of the prompt. */
	readonly cached: number | null;
	/** Part of the completion. */
	readonly reasoning: number | null;
}

/** A tool call requested by a model. */
export interface ToolCall {
	readonly id: string | null;
	readonly name: string;
	/** Parsed; undefined if `fault` is set. */
	readonly arguments: unknown;
	/** As written, or as JSON. */
	readonly text: string;
	readonly fault: string | null;
}

/** A tool result. */
export interface ToolResult {
	readonly callId: string | null;
	/** Error status according to the format; null if it has none. */
	readonly failed: boolean | null;
}

export interface TranscriptMessage {
	/** 0-based, within the transcript. */
	readonly index: number;
	readonly role: TranscriptRole;
	/** Name in the file: `AIMessage`, `assistant`. */
	readonly label: string;
	/** Name of the tool or the speaker. */
	readonly name: string | null;
	readonly text: string;
	/** Reasoning stored separately from the text. */
	readonly thinking: string;
	readonly calls: readonly ToolCall[];
	/** For tool messages. */
	readonly result: ToolResult | null;
	readonly usage: TokenUsage | null;
	/** A second, different token usage in the same message. */
	readonly otherUsage: TokenUsage | null;
	readonly model: string | null;
	readonly finishReason: string | null;
	/** Non-text parts: `image`, `audio`. */
	readonly attachments: readonly string[];
	/** Differences between two records of the same call, in words. */
	readonly contradictions: readonly string[];
	/** 1-based line and column in the file, if known. */
	readonly place: Place | null;
}

export interface Place {
	readonly line: number;
	readonly column: number;
}

/** A tool declared in the file. */
export interface DeclaredTool {
	readonly name: string;
	/** JSON Schema of its arguments; null if not declared. */
	readonly schema: unknown;
}

/** A call and its results. */
export interface CallLink {
	readonly message: number;
	/** Index among the calls of the message. */
	readonly call: number;
	/** Messages with its result; more than one is a fault. */
	readonly results: readonly number[];
}

/** One conversation. */
export interface Transcript {
	/** Title in the file, or its line. */
	readonly title: string;
	readonly messages: readonly TranscriptMessage[];
	readonly tools: readonly DeclaredTool[];
	/** One per call, in message order. */
	readonly links: readonly CallLink[];
	/** Messages with results of unknown calls. */
	readonly orphans: readonly number[];
}

/** A part that could not be read. */
export interface TranscriptFault {
	readonly place: Place | null;
	readonly message: string;
}

export type TranscriptFormat = 'python' | 'json' | 'jsonl' | 'rollout';

export interface TranscriptFile {
	readonly format: TranscriptFormat;
	readonly transcripts: readonly Transcript[];
	readonly faults: readonly TranscriptFault[];
	/** Number of faults beyond those kept. */
	readonly moreFaults: number;
}

/** A position in a transcript, for navigation. */
export interface MessagePlace {
	readonly message: number;
	/** Index of the call; null: the message itself. */
	readonly call: number | null;
}
