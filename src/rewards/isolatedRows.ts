import type { ScoreError } from '../protocol/scorer.ts';

/** After so many rows that each cost a process, with none that did not, the rest is not tried. */
const hopeless = 5;

/** Why a batch has to be tried row by row. */
export interface BatchFault {
	readonly kind: ScoreError['kind'];
	readonly message: string;
}

/** What trying one row came to; `killed`: it cost the process. */
export interface RowOutcome {
	readonly value: number | null;
	readonly errors: readonly Omit<ScoreError, 'index'>[];
	readonly killed: boolean;
}

export interface IsolatedRows {
	readonly values: (number | null)[];
	readonly errors: ScoreError[];
}

/**
 * Tries the rows of a failed batch one by one, spread over the batch so that a run of bad neighbors does not look like a
 * reward that never works. Ends early, with an error for every row left, when nothing works or time is up.
 *
 * @param deadline on `clock`, in milliseconds
 */
export async function isolateRows(
	count: number,
	fault: BatchFault,
	deadline: number,
	tryRow: (index: number) => Promise<RowOutcome>,
	clock: () => number = () => performance.now(),
): Promise<IsolatedRows> {
	const values = new Array<number | null>(count).fill(null);
	const errors: ScoreError[] = [];
	let killed = 0;
	let survived = 0;
	for (const index of spread(count)) {
		if (survived === 0 && killed >= hopeless) {
			errors.push({
				index,
				kind: fault.kind,
				message: `${fault.message} (not retried alone: ${killed} other rows failed)`,
			});
			continue;
		}
		if (clock() > deadline) {
			errors.push({
				index,
				kind: 'timeout',
				message: `Not scored: the batch failed (${fault.message}), and scoring its rows one by one took too long`,
			});
			continue;
		}
		const outcome = await tryRow(index);
		values[index] = outcome.value;
		for (const error of outcome.errors) errors.push({ ...error, index });
		if (outcome.killed) killed++;
		else survived++;
	}
	return { values, errors: errors.sort((a, b) => a.index - b.index) };
}

/** 0 to n - 1 in steps of about the golden ratio of n: every beginning of it is spread over the whole. */
export function spread(n: number): number[] {
	if (n < 3) return Array.from({ length: n }, (_, i) => i);
	let step = Math.max(1, Math.round(n * 0.618));
	while (gcd(step, n) !== 1) step++;
	return Array.from({ length: n }, (_, i) => (i * step) % n);
}

function gcd(a: number, b: number): number {
	return b === 0 ? a : gcd(b, a % b);
}
