/** What times a foreign run tells of itself. Seconds since the epoch. */
export interface TimeSigns {
	/** Those that its rows of metrics record, ascending. */
	readonly recorded: readonly number[];
	/** When the files of its metrics and of its first and newest steps were written. */
	readonly written: readonly number[];
	/** Of steps in their order: when the last file of each was written. */
	readonly steps: readonly number[];
	/** How long its rows may be held back before they are written: TensorBoard flushes every two minutes. */
	readonly flushSeconds: number;
	readonly now: number;
}

export interface RunTimes {
	/** Equal where nothing tells how long the run took. */
	readonly created: number;
	readonly updated: number;
	/** It has written within six times its median step. */
	readonly working: boolean;
}

/** A run that has written nothing for so many of its median steps is not at work. */
const stallSteps = 6;
/** Files of steps that were written closer together were copied, not trained. */
const copiedSeconds = 0.5;

/**
 * When a run began, when it gave its last sign, and whether it is at work. What its rows record counts before the times of its
 * files, which a copy makes again: a copy is at work only if its original is.
 */
export function runTimes({ recorded, written, steps, flushSeconds, now }: TimeSigns): RunTimes {
	const gaps = (times: readonly number[]) => times.slice(1).map((time, i) => time - (times[i] as number));
	const working = (last: number | undefined, step: number | null, slack: number) =>
		last !== undefined && step !== null && Math.abs(now - last) < Math.max(stallSteps * step, slack);
	const [first] = recorded;
	const last = recorded.at(-1);
	if (first !== undefined && last !== undefined && last > first) {
		const step = medianOf(gaps(recorded).filter((gap) => gap > 0));
		return { created: first, updated: last, working: working(last, step, flushSeconds) };
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
