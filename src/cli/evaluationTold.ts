import type { EvaluationProgress } from '../search/evaluate/evaluatePolicy.ts';
import type { ProblemFault } from '../search/problemSet.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { formatDuration } from './textForms.ts';

/** Faults that are printed one by one, and milliseconds between two lines of progress. */
const mostFaults = 5;
const everyMs = 200;

/** What an evaluation tells while it runs. */
export class EvaluationTold {
	readonly #output: CliOutput;
	#faults = 0;
	#told = 0;

	constructor(output: CliOutput) {
		this.#output = output;
	}

	readonly fault = ({ line, message }: ProblemFault): void => {
		this.#faults++;
		this.#output.object({ kind: 'fault', line, message });
		if (this.#faults <= mostFaults) this.#output.line(printable(`question ${line} is left out: it ${message}.`));
	};

	readonly progress = ({ done, total, seconds, accuracy }: EvaluationProgress): void => {
		if (performance.now() - this.#told < everyMs && done < total) return;
		this.#told = performance.now();
		this.#output.object({ kind: 'progress', done, total, seconds });
		if (!this.#output.isTerminal) return;
		const left = done === 0 ? '' : `, ${formatDuration((seconds / done) * (total - done))} left`;
		const share = Number.isNaN(accuracy) ? '' : `, accuracy ${accuracy.toFixed(3)}`;
		this.#output.draw(`\r\x1b[K${done} of ${total} questions${share}${left}`);
	};

	end(): void {
		if (this.#output.isTerminal) this.#output.draw('\r\x1b[K');
		if (this.#faults > mostFaults) this.#output.line(`left out: ${this.#faults} questions`);
	}
}
