/** Data used to compute a run's elapsed time. Times are in seconds since the epoch. */
export interface RunSpan {
	readonly created: number;
	/** Time of the last update. */
	readonly updated: number;
	/** Whether one of our engines is running it. */
	readonly live: boolean;
	/**
	 * Whether the run was read by an importer. Its times then come from its files, and anything after the last recorded
	 * time is unknown.
	 */
	readonly foreign: boolean;
}

/**
 * Returns the seconds from the start of a run to its last update, or to now while one of our engines is running it. The
 * tree, the dashboard and reports all use this value. Returns null if another trainer's files do not show how long the
 * run took, for example because they were copied.
 */
export function elapsedSeconds({ created, updated, live, foreign }: RunSpan, now: number): number | null {
	if (foreign && updated <= created) return null;
	return Math.max(0, (live && !foreign ? now : updated) - created);
}
