/** Progress output for `npm test`: a line for each file, the number of remaining files, and the remaining time. */

export interface ProgressItem {
	/** Phase or type of preparation. */
	readonly phase: string;
	readonly name: string;
	/** Expected duration. */
	readonly seconds: number;
	readonly cores: number;
}

export class Progress {
	readonly #left = new Set<ProgressItem>();
	readonly #running = new Map<ProgressItem, number>();
	readonly #cores: number;
	readonly #write: (line: string) => void;
	readonly #now: () => number;
	/** Measured and expected durations of finished items. Their ratio adjusts the estimate to the machine's speed. */
	#measured = 0;
	#expected = 0;

	/** @param now returns the time in milliseconds */
	constructor(
		items: Iterable<ProgressItem>,
		cores: number,
		write: (line: string) => void,
		now: () => number = () => performance.now(),
	) {
		for (const item of items) this.#left.add(item);
		this.#cores = cores;
		this.#write = write;
		this.#now = now;
	}

	start(item: ProgressItem): void {
		this.#running.set(item, this.#now());
	}

	/**
	 * @param mark `↷`: skipped entirely
	 * @param text result
	 */
	end(item: ProgressItem, mark: '✔' | '✖' | '↷', text: string): void {
		const started = this.#running.get(item);
		const seconds = started === undefined ? 0 : (this.#now() - started) / 1000;
		this.#running.delete(item);
		this.#left.delete(item);
		// Skipped items and preparation, which may be cached, say nothing about the machine's speed.
		if (started !== undefined && mark !== '↷' && item.phase !== 'prepare') {
			this.#measured += seconds;
			this.#expected += item.seconds;
		}
		const what = [item.phase, item.name].filter((part) => part !== '').join(' ');
		this.#write(`${mark} ${what}${text === '' ? '' : `: ${text}`} (${seconds.toFixed(1)} s)${this.#remaining()}`);
	}

	/** Shows what is running when nothing has finished for a while. */
	heartbeat(): void {
		const running = [...this.#running].map(
			([{ phase, name }, started]) => `${phase} ${name} (${Math.round((this.#now() - started) / 1000)} s)`,
		);
		if (running.length > 0) this.#write(`  running: ${running.join(', ')}${this.#remaining()}`);
	}

	/** Returns the expected remaining time, in seconds. */
	secondsLeft(): number {
		// Damp the ratio, because the first few files say little about the machine's speed.
		const pace = (this.#measured + 60) / (this.#expected + 60);
		let work = 0;
		let longest = 0;
		for (const item of this.#left) {
			const started = this.#running.get(item);
			const passed = started === undefined ? 0 : (this.#now() - started) / 1000;
			const seconds = Math.max(0, item.seconds * pace - passed);
			work += seconds * item.cores;
			longest = Math.max(longest, seconds);
		}
		return Math.max(work / this.#cores, longest);
	}

	#remaining(): string {
		if (this.#left.size === 0) return '';
		const seconds = this.secondsLeft();
		// Everything left was expected to have finished by now.
		const time = seconds > 0 ? durationText(seconds) : 'it takes longer than expected';
		return `   ${this.#left.size} left, ${time}`;
	}
}

/** Formats a duration such as `about 3 min` or `about 20 s`. */
export function durationText(seconds: number): string {
	if (seconds >= 90) return `about ${Math.round(seconds / 60)} min`;
	return `about ${Math.max(1, Math.round(seconds / 10) * 10)} s`;
}
