/** What a run's elapsed time is told by, in seconds since the epoch. */
export interface RunSpan {
	readonly created: number;
	/** The last sign of it. */
	readonly updated: number;
	/** An engine of ours is at work. */
	readonly live: boolean;
	/** Read by an importer: its times are those that its files tell, and nothing says what happened after the last. */
	readonly foreign: boolean;
}

/**
 * Seconds from the start of a run to its last sign, or to now while an engine of ours is at work: the one source of what tree,
 * dashboard and reports show. null: another trainer's files do not say how long the run took, as when they were copied.
 */
export function elapsedSeconds({ created, updated, live, foreign }: RunSpan, now: number): number | null {
	if (foreign && updated <= created) return null;
	return Math.max(0, (live && !foreign ? now : updated) - created);
}
