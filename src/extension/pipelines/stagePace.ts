/** What is left of stages at work, by how fast they were seen to go: a stage that was resumed has rested in between. */
export class StagePace {
	readonly #seen = new Map<string, { readonly done: number; readonly at: number }>();

	/** @param done steps or problems, as they are at the time `at` in seconds */
	note(stage: string, done: number, at: number): void {
		const first = this.#seen.get(stage);
		if (first === undefined || done < first.done) this.#seen.set(stage, { done, at });
	}

	forget(stage: string): void {
		this.#seen.delete(stage);
	}

	/** Seconds until `total`; null: too little was seen to say, or nothing is left. */
	left(stage: string, done: number, total: number, at: number): number | null {
		const first = this.#seen.get(stage);
		if (first === undefined || done <= first.done || at - first.at < minSeconds || done >= total) return null;
		return ((at - first.at) / (done - first.done)) * (total - done);
	}
}

/** Of less nothing is concluded. */
const minSeconds = 3;
