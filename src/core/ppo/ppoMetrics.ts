import { clipSide } from '../grpo/objective/clipped.ts';
import { type Metrics, metricValue } from '../grpo/stepMetrics.ts';

/** A row in a policy update, with one entry per completion token. */
export interface PolicyRow {
	readonly advantages: ArrayLike<number>;
	/** Log-probabilities under the policy before the update. */
	readonly logprobs: ArrayLike<number>;
	/** Log-probabilities before the first update of the batch, or null if identical to `logprobs` (the only update). */
	readonly oldLogprobs: ArrayLike<number> | null;
	readonly entropies: ArrayLike<number>;
}

/** Computes means over the tokens in an update: entropy, KL to the sampling policy, and fractions of clipped tokens. */
export function policyMetrics(rows: readonly PolicyRow[], cliprange: number): Metrics {
	const range = { epsilonLow: cliprange, epsilonHigh: cliprange };
	let tokens = 0;
	let entropy = 0;
	let kl = 0;
	let low = 0;
	let high = 0;
	for (const { advantages, logprobs, oldLogprobs, entropies } of rows) {
		for (let t = 0; t < logprobs.length; t++) {
			tokens++;
			entropy += entropies[t] as number;
			if (oldLogprobs === null) continue;
			const [now, old] = [logprobs[t] as number, oldLogprobs[t] as number];
			kl += old - now;
			const side = clipSide(now - old, advantages[t] as number, range);
			if (side === 'low') low++;
			else if (side === 'high') high++;
		}
	}
	return {
		policy_kl: metricValue(kl / tokens),
		entropy: metricValue(entropy / tokens),
		'clip_ratio/low_mean': metricValue(low / tokens),
		'clip_ratio/high_mean': metricValue(high / tokens),
		'clip_ratio/region_mean': metricValue((low + high) / tokens),
	};
}

/** A row in a critic update, with one entry per completion token. */
export interface ValuedRow {
	/** Values before the update. */
	readonly values: ArrayLike<number>;
	/** Values when the batch was sampled. */
	readonly oldValues: ArrayLike<number>;
}

/** Returns the fraction of tokens in an update whose value has moved outside the range around its old value. */
export function valueClipShare(rows: readonly ValuedRow[], range: number): number | null {
	let tokens = 0;
	let clipped = 0;
	for (const { values, oldValues } of rows) {
		for (let t = 0; t < oldValues.length; t++) {
			tokens++;
			if (Math.abs((values[t] as number) - (oldValues[t] as number)) > range) clipped++;
		}
	}
	return metricValue(clipped / tokens);
}
