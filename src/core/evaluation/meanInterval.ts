import { t95, z95 } from './studentT.ts';

/** A mean over questions. */
export interface Estimate {
	/** Mean, from 0 to 1. */
	readonly accuracy: number;
	/** Lower bound of the 95% interval. */
	readonly low: number;
	readonly high: number;
}

/**
 * Weight for shrinking the spread between questions toward that of all-or-nothing questions. A few questions with
 * similarly low scores do not prove that all questions are alike.
 */
const doubt = 0.5;

/**
 * Returns the mean over questions with its 95% interval: the interval of Agresti and Coull (1998) for the effective
 * number of all-or-nothing questions (Korn and Graubard 1998). Samples of the same question are not independent, so
 * what matters is the spread s² between the question means m_i: their mean m is as certain as that of n_eff = m(1 - m)
 * n / s² (z / t_(n-1))² questions with one sample each, and never less certain than that of n questions. `npm run
 * acceptance -- coverage` prints how often the interval contains the true value.
 * @param values one per question: fraction of correct samples, pass@k, ..., 0 to 1
 */
export function meanInterval(values: readonly number[]): Estimate {
	const n = values.length;
	if (n === 0) return { accuracy: Number.NaN, low: 0, high: 1 };
	const mean = values.reduce((sum, value) => sum + value, 0) / n;
	return { accuracy: mean, ...agrestiCoull(mean, Math.max(n, worth(values, mean))) };
}

/** Returns the fraction of successes in `n` independent trials, with its 95% interval. */
export function shareInterval(right: number, n: number): Estimate {
	return n === 0 ? { accuracy: Number.NaN, low: 0, high: 1 } : { accuracy: right / n, ...agrestiCoull(right / n, n) };
}

/**
 * Estimates accuracy: the mean over problems of the mean over samples. Problems without samples are ignored.
 * @param correct one list of samples per problem
 */
export function estimateAccuracy(correct: readonly (readonly boolean[])[]): Estimate {
	return meanInterval(
		correct
			.filter((samples) => samples.length > 0)
			.map((samples) => samples.filter((right) => right).length / samples.length),
	);
}

/** Returns the effective number of questions with one sample each. */
function worth(values: readonly number[], mean: number): number {
	const n = values.length;
	// If all are correct or all are incorrect, the data does not show how alike the samples of a question are.
	if (n < 2 || mean <= 0 || mean >= 1) return n;
	const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
	const drawn = (mean * n + 2) / (n + 4);
	const spread = (squares + doubt * drawn * (1 - drawn)) / (n - 1 + doubt);
	return ((mean * (1 - mean) * n) / spread) * (z95 / t95(n - 1)) ** 2;
}

/**
 * Returns the normal interval around the mean after adding z²/2 correct and z²/2 incorrect trials.
 * @param n number of trials; can be fractional
 */
function agrestiCoull(share: number, n: number): { readonly low: number; readonly high: number } {
	const trials = n + z95 ** 2;
	const center = (share * n + z95 ** 2 / 2) / trials;
	const half = z95 * Math.sqrt((center * (1 - center)) / trials);
	return { low: share <= 0 ? 0 : Math.max(0, center - half), high: share >= 1 ? 1 : Math.min(1, center + half) };
}
