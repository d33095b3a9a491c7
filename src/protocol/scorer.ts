/** One message of a conversation, as datasets in TRL's conversational format hold them. */
export interface ChatMessage {
	readonly role: string;
	readonly content: string | null;
	/** What an assistant calls, and which call the result of a `tool` is of, as OpenAI's chat has them. */
	readonly tool_calls?: readonly ChatToolCall[];
	readonly tool_call_id?: string;
}

export interface ChatToolCall {
	readonly id: string;
	readonly type: 'function';
	/** `arguments`: JSON as the model wrote it, which may be malformed. */
	readonly function: { readonly name: string; readonly arguments: string };
}

/** One row of a batch that is scored: what a reward function sees. */
export interface ScoreRow {
	readonly prompt: string;
	readonly completion: string;
	readonly answer: unknown;
	/** The dataset row, or the generated problem's public fields. */
	readonly row: Readonly<Record<string, unknown>>;
	/** Cut off at the length limit; null: not recorded. */
	readonly truncated: boolean | null;
	/** Tokens of the completion where they are known: `completion_ids` of a Python reward. */
	readonly completionIds?: readonly number[];
	/** Set when the data is conversational: a Python reward then gets lists of messages, as under TRL. */
	readonly messages?: { readonly prompt: readonly ChatMessage[]; readonly completion: readonly ChatMessage[] };
}

/**
 * Why a row has no value.
 * - `threw`: user code raised; `timeout`: it took longer than its limit; `memory`: it wanted more than its limit
 * - `invalid`: it returned something that is no reward (text, a bool, NaN, infinity, a list of the wrong length)
 * - `processes`: it started more processes than its limit; `exited`: it ended its process
 * - `load`: the file could not be loaded
 */
export const scoreErrorKinds = ['threw', 'timeout', 'memory', 'processes', 'invalid', 'exited', 'load'] as const;
export type ScoreErrorKind = (typeof scoreErrorKinds)[number];

export interface ScoreError {
	/** Row of the batch; -1 for the batch as a whole: then none of its rows has a value. */
	readonly index: number;
	readonly kind: ScoreErrorKind;
	readonly message: string;
	readonly stack?: string;
	/** Of the reward file, from 1: the innermost frame that is in it. */
	readonly line?: number;
}

export interface ScoreResult {
	/** One value a row; null: the reward does not apply to the row. A row with an error also has null here. */
	readonly values: readonly (number | null)[];
	readonly errors: readonly ScoreError[];
	/** What the user's code printed, line by line; cut at a limit. */
	readonly logs: readonly string[];
	readonly durationMs: number;
	/** The batch failed as a whole and its rows were scored one by one. */
	readonly isolated?: boolean;
}
