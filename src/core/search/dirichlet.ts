import type { Random } from '../../base/random.ts';

/**
 * Samples from the symmetric Dirichlet distribution over n outcomes, using gamma variates (Marsaglia and Tsang 2000).
 */
export function dirichlet(random: Random, n: number, alpha: number): number[] {
	const draws = Array.from({ length: n }, () => gamma(random, alpha));
	const sum = draws.reduce((a, b) => a + b, 0);
	if (sum === 0) {
		// If alpha is small, all variates can underflow. In that case, gives all the mass to a random outcome.
		const winner = random.int(n);
		return draws.map((_, i) => (i === winner ? 1 : 0));
	}
	return draws.map((draw) => draw / sum);
}

function gamma(random: Random, shape: number): number {
	if (shape < 1) return gamma(random, shape + 1) * (1 - random.next()) ** (1 / shape);
	const d = shape - 1 / 3;
	const c = 1 / Math.sqrt(9 * d);
	for (;;) {
		const x = random.normal();
		const v = (1 + c * x) ** 3;
		if (v > 0 && Math.log(1 - random.next()) < 0.5 * x * x + d * (1 - v + Math.log(v))) return d * v;
	}
}
