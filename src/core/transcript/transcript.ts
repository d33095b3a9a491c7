/** Who speaks, whatever the format calls it. */
export type TranscriptRole = 'system' | 'user' | 'assistant' | 'tool' | 'other';

/** Tokens of one call of a model, as the provider counted them. */
export interface TokenUsage {
	/** All tokens read, those from a cache included. */
	readonly prompt: number;
	readonly completion: number;
	/** As told; null: not told. */
	readonly total: number | null;
	/** Of the prompt. */
	readonly cached: number | null;
	/** Of the completion. */
	readonly reasoning: number | null;
}

/** A tool that a model asked for. */
export interface ToolCall {
	readonly id: string | null;
	readonly name: string;
	/** Decoded; undefined when `fault` says why they are not. */
	readonly arguments: unknown;
	/** As written, or as JSON. */
	readonly text: string;
	readonly fault: string | null;
}

/** What a tool gave back. */
export interface ToolResult {
	readonly callId: string | null;
	/** Told by the format; null: it tells nothing. */
	readonly failed: boolean | null;
}

export interface TranscriptMessage {
	/** From 0, within the transcript. */
	readonly index: number;
	readonly role: TranscriptRole;
	/** What the file calls it: `AIMessage`, `assistant`. */
	readonly label: string;
	/** Of the tool or of the speaker. */
	readonly name: string | null;
	readonly text: string;
	/** Reasoning that is kept apart from the text. */
	readonly thinking: string;
	readonly calls: readonly ToolCall[];
	/** Of a tool's message. */
	readonly result: ToolResult | null;
	readonly usage: TokenUsage | null;
	/** Where the message tells its usage twice and differently: the second telling. */
	readonly otherUsage: TokenUsage | null;
	readonly model: string | null;
	readonly finishReason: string | null;
	/** Parts that are no text: `image`, `audio`. */
	readonly attachments: readonly string[];
	/** Calls that are told a second time under another field, where the two differ: in words. */
	readonly contradictions: readonly string[];
	/** Line (from 1) and column (from 1) in the file, where they are known. */
	readonly place: Place | null;
}

export interface Place {
	readonly line: number;
	readonly column: number;
}

/** A tool as the file declares it. */
export interface DeclaredTool {
	readonly name: string;
	/** JSON Schema of its arguments; null: not told. */
	readonly schema: unknown;
}

/** A call and what came back. */
export interface CallLink {
	readonly message: number;
	/** Which of the message's calls. */
	readonly call: number;
	/** Messages with its result; more than one is a fault. */
	readonly results: readonly number[];
}

/** One conversation. */
export interface Transcript {
	/** How the file names it, or which line it is. */
	readonly title: string;
	readonly messages: readonly TranscriptMessage[];
	readonly tools: readonly DeclaredTool[];
	/** One for each call, in the order of the messages. */
	readonly links: readonly CallLink[];
	/** Messages with results of calls that no message makes. */
	readonly orphans: readonly number[];
}

/** What could not be read. */
export interface TranscriptFault {
	readonly place: Place | null;
	readonly message: string;
}

export type TranscriptFormat = 'python' | 'json' | 'jsonl' | 'rollout';

export interface TranscriptFile {
	readonly format: TranscriptFormat;
	readonly transcripts: readonly Transcript[];
	readonly faults: readonly TranscriptFault[];
	/** How many faults there were beyond those kept. */
	readonly moreFaults: number;
}

/** The field of a call in which a place of a transcript lies; for jumps. */
export interface MessagePlace {
	readonly message: number;
	/** Which of its calls; null: the message itself. */
	readonly call: number | null;
}
