import { Random } from '../../base/random.ts';

/**
 * Exact two-sided McNemar test (McNemar 1947, with binomial probabilities). For n = b + c problems solved by only one
 * of two runs, returns the probability of a split at least as uneven if neither run is better: p = min(1, 2 P(X <=
 * min(b, c))) for X ~ Binomial(n, 1/2), or 1 if n is 0.
 * @param b number of problems that only the first run solved
 * @param c number of problems that only the second run solved
 */
export function mcnemarExact(b: number, c: number): number {
	const n = b + c;
	const min = Math.min(b, c);
	// Use logarithms because 2^-n underflows at n = 1075.
	let term = -n * Math.LN2;
	let sum = Math.exp(term);
	for (let i = 0; i < min; i++) {
		term += Math.log((n - i) / (i + 1));
		sum += Math.exp(term);
	}
	return Math.min(1, 2 * sum);
}

/** Maximum number of nonzero differences for which all sign assignments (2^19 by symmetry) are enumerated. */
const maxEnumerated = 20;
/** Maximum number of random draws per test; tests with a large number of problems use fewer assignments. */
const maxDraws = 20_000_000;
const drawLimits = { max: 20_000, min: 1000 } as const;

/**
 * Two-sided sign-flip test for paired differences (Fisher 1935, section 21). If neither run is better, each difference
 * is equally likely to have the opposite sign, so p is the fraction of sign assignments whose sum is at least as far
 * from 0 as the observed one. With few nonzero differences, all assignments are enumerated; otherwise they are drawn at
 * random, with one added to both counts (Davison and Hinkley 1997, section 4.3) so that p is never 0. With one sample
 * per problem, the test equals {@link mcnemarExact}. Deterministic: the draws depend only on the number of differences.
 * Returns NaN if there are no differences.
 * @param differences one per problem: fraction of correct samples, second minus first
 */
export function signFlipTest(differences: readonly number[]): number {
	if (differences.length === 0) return Number.NaN;
	const sizes = differences.filter((value) => value !== 0).map(Math.abs);
	const observed = Math.abs(differences.reduce((sum, value) => sum + value, 0));
	// Allow for rounding error, so that it does not break ties between equal sums.
	const far = observed - 1e-9 * sizes.reduce((sum, value) => sum + value, 0);
	if (sizes.length === 0) return 1;
	return sizes.length <= maxEnumerated ? shareOfAll(sizes, far) : shareOfDrawn(sizes, far);
}

/** By symmetry, the first sign is fixed. Each Gray code step flips one sign, so each sum takes a single addition. */
function shareOfAll(sizes: readonly number[], far: number): number {
	let sum = sizes.reduce((total, value) => total + value, 0);
	const signs = sizes.map(() => 1);
	const assignments = 2 ** (sizes.length - 1);
	let reached = Math.abs(sum) >= far ? 1 : 0;
	for (let i = 1; i < assignments; i++) {
		const turned = 1 + Math.clz32(1) - Math.clz32(i & -i);
		signs[turned] = -(signs[turned] as number);
		sum += 2 * (signs[turned] as number) * (sizes[turned] as number);
		if (Math.abs(sum) >= far) reached++;
	}
	return reached / assignments;
}

function shareOfDrawn(sizes: readonly number[], far: number): number {
	const random = Random.of('sign flips', sizes.length);
	const values = Float64Array.from(sizes);
	const draws = Math.max(drawLimits.min, Math.min(drawLimits.max, Math.floor(maxDraws / sizes.length)));
	let reached = 0;
	for (let draw = 0; draw < draws; draw++) {
		let sum = 0;
		let bits = 0;
		for (let i = 0; i < values.length; i++) {
			if (i % 32 === 0) bits = random.uint32();
			sum += bits & 1 ? (values[i] as number) : -(values[i] as number);
			bits >>>= 1;
		}
		if (Math.abs(sum) >= far) reached++;
	}
	return (reached + 1) / (draws + 1);
}
