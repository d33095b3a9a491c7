/**
 * Estimates the remaining time of running stages from their observed speed, ignoring idle time before a stage was
 * resumed.
 */
export class StagePace {
	readonly #seen = new Map<string, { readonly done: number; readonly at: number }>();

	/** @param done completed steps or problems at time `at`, in seconds */
	note(stage: string, done: number, at: number): void {
		const first = this.#seen.get(stage);
		if (first === undefined || done < first.done) this.#seen.set(stage, { done, at });
	}

	forget(stage: string): void {
		this.#seen.delete(stage);
	}

	/**
	 * Returns the estimated number of seconds until `total` is reached, or null if too little progress was observed or
	 * `total` has already been reached.
	 */
	left(stage: string, done: number, total: number, at: number): number | null {
		const first = this.#seen.get(stage);
		if (first === undefined || done <= first.done || at - first.at < minSeconds || done >= total) return null;
		return ((at - first.at) / (done - first.done)) * (total - done);
	}
}

/** Minimum observation time for an estimate, in seconds. */
const minSeconds = 3;
