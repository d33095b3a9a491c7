import type { ScoreRow } from '../../protocol/scorer.ts';

/** One row on which a reward is to be debugged. */
export interface DebuggedRow {
	/** The reward file, absolute. */
	readonly file: string;
	readonly reward: string;
	/** The batch in which the row was scored, as it was sent: a reward may look at its neighbours. */
	readonly rows: readonly ScoreRow[];
	/** Of the row within `rows`. */
	readonly index: number;
	/** For people: "row 12, right answer". */
	readonly label: string;
}

/** Runs a reward on one row under the debugger of its language. */
export interface RewardDebugging {
	/** Resolves once the debug session has started. Fails with `unavailable` when there is no debugger for the language. */
	debug(asked: DebuggedRow): Promise<void>;
}
