/** Added to the standard deviation, as in the authors' code. */
const epsilon = 1e-6;

/**
 * Pass@k: each set of k completions in a group gets the reward of its best completion. The reward of a set is
 * normalized over all sets, (R - mean) / (std + 1e-6), and the advantage of a completion is the mean over the sets that
 * contain it. Chen et al. 2025 (arXiv:2508.10751), whose rewards are 0 or 1; here, they can have any value.
 *
 * With rewards sorted in ascending order and numbered from 0, reward m is the best in C(m, k - 1) of the C(n, k) sets,
 * and in C(m - 1, k - 2) of the C(n - 1, k - 1) sets that contain a given lower reward.
 * @param rewards rewards of one group, without nulls
 * @param k completions per set; capped at the group size
 */
export function passAtKAdvantages(rewards: Float64Array, k: number): Float64Array {
	const n = rewards.length;
	const size = Math.min(k, n);
	const order = [...rewards.keys()].sort((a, b) => (rewards[a] as number) - (rewards[b] as number));
	const sorted = Float64Array.from(order, (i) => rewards[i] as number);
	// Every set has the same best reward. Return exactly 0, because rounding would leave about 1e-16 / 1e-6.
	if (sorted[size - 1] === sorted[n - 1]) return new Float64Array(n);
	const shares = sorted.map((_, m) => choose(m, size - 1) / choose(n, size));
	const center = sorted.reduce((sum, reward, m) => sum + reward * (shares[m] as number), 0);
	const variance = sorted.reduce((sum, reward, m) => sum + (reward - center) ** 2 * (shares[m] as number), 0);
	const values = new Float64Array(n);
	const sets = choose(n - 1, size - 1);
	// Sum, over completions with higher rewards, of the reward times the number of sets in which it is the best.
	let above = 0;
	for (let m = n - 1; m >= 0; m--) {
		const own = (sorted[m] as number) * choose(m, size - 1);
		values[order[m] as number] = ((own + above) / sets - center) / (Math.sqrt(variance) + epsilon);
		if (size > 1) above += (sorted[m] as number) * choose(m - 1, size - 2);
	}
	return values;
}

/** Binomial coefficient as a floating-point number; 0 if k exceeds n. */
function choose(n: number, k: number): number {
	if (k > n || k < 0) return 0;
	let result = 1;
	for (let i = 1; i <= k; i++) result *= (n - k + i) / i;
	return result;
}
