import { formatClock, formatCounted } from '../base/format.ts';
import type { ProblemFault } from '../search/problemSet.ts';
import { type CliOutput, printable } from './cliOutput.ts';

/** Maximum number of faults printed individually, and minimum interval between progress lines in milliseconds. */
const maxFaults = 5;
const everyMs = 200;

/** Progress of a long-running task. */
export interface Work {
	readonly done: number;
	/** Total number of items, or null if unknown. */
	readonly total: number | null;
	readonly seconds: number;
}

/** Reports progress on a set of problems: the number completed and any skipped problems. */
export class WorkProgress<P> {
	readonly #output: CliOutput;
	readonly #noun: string;
	readonly #workOf: (progress: P) => Work;
	readonly #words: (progress: P) => string;
	#faults = 0;
	#drawn = Number.NEGATIVE_INFINITY;

	/**
	 * @param noun name for a skipped item, such as "line" or "question"
	 * @param words formats the terminal progress line; the remaining time is appended
	 */
	constructor(output: CliOutput, noun: string, workOf: (progress: P) => Work, words: (progress: P) => string) {
		this.#output = output;
		this.#noun = noun;
		this.#workOf = workOf;
		this.#words = words;
	}

	readonly fault = ({ line, message }: ProblemFault): void => {
		this.#faults++;
		this.#output.object({ kind: 'fault', line, message });
		if (this.#faults > maxFaults) return;
		this.#output.line(printable(`Skipped ${this.#noun} ${line}: it ${message}.`));
	};

	readonly progress = (progress: P): void => {
		const { done, total, seconds } = this.#workOf(progress);
		if (performance.now() - this.#drawn < everyMs && done !== total) return;
		this.#drawn = performance.now();
		this.#output.object({ kind: 'progress', ...progress });
		if (!this.#output.isTerminal) return;
		const left = done === 0 || total === null ? '' : `, ${formatClock((seconds / done) * (total - done))} left`;
		this.#output.draw(`\r\x1b[K${this.#words(progress)}${left}`);
	};

	end(): void {
		if (this.#output.isTerminal) this.#output.draw('\r\x1b[K');
		if (this.#faults > maxFaults) this.#output.line(`skipped: ${formatCounted(this.#faults, this.#noun)}`);
	}
}
