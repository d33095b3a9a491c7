import type { Random } from '../../base/random.ts';

/**
 * Estimated pass rates of problems: decayed counts of correct and incorrect completions for each problem. With a
 * uniform prior, the pass rate of a problem has the distribution Beta(1 + successes, 1 + failures).
 * Source: MoPPS (Qu et al. 2025, 2507.04632), section 3.2.
 */
export interface PassRates {
	readonly successes: readonly number[];
	readonly failures: readonly number[];
}

/** Results of sampling one problem. Counts are fractional if rewards are. */
export interface PassResult {
	/** Index of the problem. */
	readonly problem: number;
	readonly successes: number;
	readonly failures: number;
}

export function unknownPassRates(problems: number): PassRates {
	return { successes: new Array<number>(problems).fill(0), failures: new Array<number>(problems).fill(0) };
}

/** Returns the rates updated with new results. Earlier counts of the same problem are multiplied by `decay`. */
export function withResults(rates: PassRates, results: readonly PassResult[], decay: number): PassRates {
	const successes = [...rates.successes];
	const failures = [...rates.failures];
	for (const result of results) {
		const { problem } = result;
		successes[problem] = (successes[problem] as number) * decay + result.successes;
		failures[problem] = (failures[problem] as number) * decay + result.failures;
	}
	return { successes, failures };
}

/** Returns the parameters of the pass rate's distribution. */
function betaOf({ successes, failures }: PassRates, problem: number): readonly [alpha: number, beta: number] {
	return [1 + (successes[problem] as number), 1 + (failures[problem] as number)];
}

export function isMeasured(rates: PassRates, problem: number): boolean {
	return (rates.successes[problem] as number) + (rates.failures[problem] as number) > 0;
}

/** Returns the expected pass rate of a problem. */
export function expectedRate(rates: PassRates, problem: number): number {
	const [alpha, beta] = betaOf(rates, problem);
	return alpha / (alpha + beta);
}

/**
 * Returns the probability that all completions in a group are correct or all are incorrect: the mean of p^n + (1 - p)^n
 * over the distribution of the pass rate p. This mean is a product of ratios.
 * @param size number of completions n
 */
export function deadChance(rates: PassRates, problem: number, size: number): number {
	const [alpha, beta] = betaOf(rates, problem);
	let allCorrect = 1;
	let allIncorrect = 1;
	for (let i = 0; i < size; i++) {
		allCorrect *= (alpha + i) / (alpha + beta + i);
		allIncorrect *= (beta + i) / (alpha + beta + i);
	}
	return allCorrect + allIncorrect;
}

/** Draws a pass rate from its distribution (Thompson sampling). */
export function drawRate(rates: PassRates, problem: number, random: Random): number {
	const [alpha, beta] = betaOf(rates, problem);
	const first = gamma(alpha, random);
	return first / (first + gamma(beta, random));
}

/** Draws from a gamma distribution with scale 1 and a shape of at least 1 (Marsaglia and Tsang 2000). */
function gamma(shape: number, random: Random): number {
	const d = shape - 1 / 3;
	const c = 1 / Math.sqrt(9 * d);
	for (;;) {
		const x = random.normal();
		const v = (1 + c * x) ** 3;
		if (v > 0 && Math.log(1 - random.next()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
	}
}
