import type { ScoreRow } from '../../protocol/scorer.ts';

/** One row on which a reward is to be debugged. */
export interface DebuggedRow {
	/** The reward file, absolute. */
	readonly file: string;
	readonly reward: string;
	readonly row: ScoreRow;
	/** What the reward gave it in its batch; undefined: that is not known. */
	readonly before?: number | null;
	/** For people: "row 12, right answer". */
	readonly label: string;
}

/** Runs a reward on one row under the debugger of its language. */
export interface RewardDebugging {
	/** Resolves once the debug session has started. Fails with `unavailable` when there is no debugger for the language. */
	debug(asked: DebuggedRow): Promise<void>;
}
