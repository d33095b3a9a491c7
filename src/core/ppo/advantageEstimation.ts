import { klEstimate } from '../grpo/kl.ts';

/**
 * Computes the reward for each token in a completion: minus `klCoef` times its KL to the reference (k1: log policy -
 * log reference, Ziegler et al. 2019, section 2.2; as in TRL's PPOTrainer). The completion's reward is added at the
 * last token.
 * @param refLogprobs null if there is no KL term
 */
export function tokenRewards(
	reward: number,
	logprobs: ArrayLike<number>,
	refLogprobs: ArrayLike<number> | null,
	klCoef: number,
): Float64Array {
	const rewards = new Float64Array(logprobs.length);
	if (refLogprobs !== null && klCoef !== 0) {
		for (let t = 0; t < rewards.length; t++) {
			rewards[t] = -klCoef * klEstimate('k1', logprobs[t] as number, refLogprobs[t] as number);
		}
	}
	if (rewards.length > 0) rewards[rewards.length - 1] = (rewards[rewards.length - 1] as number) + reward;
	return rewards;
}

export interface Estimate {
	readonly advantages: Float64Array;
	/** Advantages plus values, which are the critic's training target. */
	readonly returns: Float64Array;
}

/**
 * Computes generalized advantage estimates (Schulman et al. 2016, equation 16) over the tokens in one completion: A_t =
 * delta_t + gamma lam A_(t+1), delta_t = r_t + gamma V_(t+1) - V_t, where terms after the last token are 0.
 * @param values V_t before token t, one per token
 */
export function estimateAdvantages(
	rewards: ArrayLike<number>,
	values: ArrayLike<number>,
	{ gamma, lam }: { readonly gamma: number; readonly lam: number },
): Estimate {
	const length = rewards.length;
	if (values.length !== length) throw new RangeError(`got ${length} rewards but ${values.length} values`);
	const advantages = new Float64Array(length);
	const returns = new Float64Array(length);
	let next = 0;
	for (let t = length - 1; t >= 0; t--) {
		const value = values[t] as number;
		const after = t + 1 < length ? (values[t + 1] as number) : 0;
		next = (rewards[t] as number) + gamma * after - value + gamma * lam * next;
		advantages[t] = next;
		returns[t] = next + value;
	}
	return { advantages, returns };
}

/** Added to the variance, as in TRL. */
const varianceEpsilon = 1e-8;

/**
 * Whitens values to mean 0 and SD 1 across all tokens in all rows: (x - mean) / sqrt(variance + 1e-8), using the sample
 * variance (n - 1), as in TRL's `masked_whiten`. If all tokens are equal, or there is only one, the result is 0.
 */
export function whiten(rows: readonly Float64Array[]): Float64Array[] {
	let count = 0;
	let sum = 0;
	for (const row of rows) {
		count += row.length;
		for (const x of row) sum += x;
	}
	const mean = sum / count;
	let squares = 0;
	for (const row of rows) for (const x of row) squares += (x - mean) ** 2;
	const scale = 1 / Math.sqrt((count > 1 ? squares / (count - 1) : 0) + varianceEpsilon);
	return rows.map((row) => row.map((x) => (x - mean) * scale));
}

/**
 * Computes the explained variance of the returns: 1 - Var(R - V) / Var(R). 1 means that values predict returns exactly,
 * 0 that they are no better than the mean, and below 0 that they are worse. NaN if all returns are equal.
 */
export function explainedVariance(values: readonly number[], returns: readonly number[]): number {
	const variance = (list: readonly number[]) => {
		const mean = list.reduce((a, b) => a + b, 0) / list.length;
		return list.reduce((sum, x) => sum + (x - mean) ** 2, 0) / list.length;
	};
	const total = variance(returns);
	return total === 0 ? Number.NaN : 1 - variance(returns.map((r, i) => r - (values[i] as number))) / total;
}
