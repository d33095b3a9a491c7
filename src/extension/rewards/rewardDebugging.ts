import type { ScoreRow } from '../../protocol/scorer.ts';

/** A row to debug a reward on. */
export interface DebuggedRow {
	/** Absolute path to the reward file. */
	readonly file: string;
	readonly reward: string;
	readonly row: ScoreRow;
	/** Value of the reward in the row's batch; undefined if unknown. */
	readonly before?: number | null;
	/** Display label, such as "row 12, correct answer". */
	readonly label: string;
}

/** Debugs a reward on one row with the debugger for its language. */
export interface RewardDebugging {
	/** Resolves once the debug session has started. Fails with `unavailable` if there is no debugger for the language. */
	debug(asked: DebuggedRow): Promise<void>;
}
