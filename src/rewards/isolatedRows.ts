import type { ScoreError } from '../protocol/scorer.ts';

/** Once this many rows have crashed the process and none has succeeded, the remaining rows are skipped. */
const hopeless = 5;

/** Reason for retrying a batch row by row. */
export interface BatchFault {
	readonly kind: ScoreError['kind'];
	readonly message: string;
}

/** Result of scoring one row. `killed`: whether scoring the row killed the process. */
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
 * Scores the rows of a failed batch one by one. Tries rows from all over the batch first, so a few adjacent bad rows do
 * not make the reward look broken. Ends early, with an error for each remaining row, if no row succeeds or time runs
 * out.
 *
 * @param deadline in milliseconds, as measured by `clock`
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
				message: `${fault.message} (not retried individually because ${killed} other rows failed)`,
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

/**
 * Returns 0 to n - 1 in steps of about n divided by the golden ratio, so every prefix is spread over the whole range.
 */
export function spread(n: number): number[] {
	if (n < 3) return Array.from({ length: n }, (_, i) => i);
	let step = Math.max(1, Math.round(n * 0.618));
	while (gcd(step, n) !== 1) step++;
	return Array.from({ length: n }, (_, i) => (i * step) % n);
}

function gcd(a: number, b: number): number {
	return b === 0 ? a : gcd(b, a % b);
}
