/** One row of a batch that is scored: what a reward function sees. */
export interface ScoreRow {
	readonly prompt: string;
	readonly completion: string;
	readonly answer: unknown;
	/** The dataset row, or the generated problem's public fields. */
	readonly row: Readonly<Record<string, unknown>>;
	readonly truncated: boolean;
}

export interface ScoreError {
	/** Row of the batch; -1 for the batch as a whole. */
	readonly index: number;
	readonly message: string;
	readonly stack?: string;
	readonly line?: number;
}

export interface ScoreResult {
	/** One value a row; null: the reward does not apply to the row. A row with an error also has null here. */
	readonly values: readonly (number | null)[];
	readonly errors: readonly ScoreError[];
	readonly logs: readonly string[];
	readonly durationMs: number;
}

export interface ScorerDescription {
	readonly name: string;
	readonly weight: number;
	readonly batchOnly: boolean;
}

/**
 * Scores whole generation batches with one reward. Built-in rewards implement it in the process; a reward host process
 * implements it over its connection. Training and the editor's verification use nothing else.
 */
export interface Scorer {
	readonly description: ScorerDescription;
	score(
		rows: readonly ScoreRow[],
		options: { readonly timeoutMs: number; readonly signal?: ScorerSignal },
	): Promise<ScoreResult>;
	dispose(): void;
}

/** The part of AbortSignal that a scorer needs. */
export interface ScorerSignal {
	readonly aborted: boolean;
	addEventListener(type: 'abort', listener: () => void): void;
	removeEventListener(type: 'abort', listener: () => void): void;
}
