/** Evidence used to determine when a foreign run was active. Times are in seconds since the epoch. */
export interface TimeSigns {
	/** Times recorded in metrics rows, ascending. */
	readonly recorded: readonly number[];
	/** Time recorded in the row of the latest step, which is not the latest time if the clock was set back; null if none. */
	readonly latest: number | null;
	/** Write times of the metrics files and of the files of the first and latest steps. */
	readonly written: readonly number[];
	/** For consecutive steps, the write time of each step's last file. */
	readonly steps: readonly number[];
	/** Maximum delay before rows are written: TensorBoard flushes every two minutes. */
	readonly flushSeconds: number;
	readonly now: number;
}

export interface RunTimes {
	/** Same as `updated` if nothing shows how long the run took. */
	readonly created: number;
	readonly updated: number;
	/** Whether the run has written anything within six times its median step duration. */
	readonly working: boolean;
}

/** A run that has written nothing for this many median step durations is considered inactive. */
const stallSteps = 6;
/** If step files were written in quicker succession than this, they were copied rather than produced by training. */
const copiedSeconds = 0.5;

/**
 * Determines when a run started, when it was last active, and whether it is still active. Times recorded in rows take
 * precedence over file times, because copying resets file times. A copy therefore counts as active only if its original
 * is active.
 */
export function runTimes({ recorded, latest, written, steps, flushSeconds, now }: TimeSigns): RunTimes {
	const gaps = (times: readonly number[]) => times.slice(1).map((time, i) => time - (times[i] as number));
	const working = (last: number | undefined, step: number | null, slack: number) =>
		last !== undefined && step !== null && Math.abs(now - last) < Math.max(stallSteps * step, slack);
	const [first] = recorded;
	const last = recorded.at(-1);
	if (first !== undefined && last !== undefined && last > first) {
		const step = medianOf(gaps(recorded).filter((gap) => gap > 0));
		const active = working(last, step, flushSeconds) || working(latest ?? last, step, flushSeconds);
		return { created: first, updated: last, working: active };
	}
	const newest = written.length === 0 ? now : Math.max(...written);
	const step = medianOf(gaps(steps).map((gap) => Math.max(0, gap)));
	const copied = step === null || step < copiedSeconds;
	return {
		created: copied ? newest : Math.min(...written),
		updated: newest,
		working: !copied && working(newest, step, 0),
	};
}

function medianOf(values: readonly number[]): number | null {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[sorted.length >> 1] ?? null;
}
