import { clipSide } from '../grpo/clippedLoss.ts';
import { type Metrics, metricValue } from '../grpo/stepMetrics.ts';

/** A row of an update of the policy; one entry per completion token. */
export interface PolicyRow {
	readonly advantages: ArrayLike<number>;
	/** Under the policy before the update. */
	readonly logprobs: ArrayLike<number>;
	/** null: same as `logprobs` (the only update of a batch). */
	readonly oldLogprobs: ArrayLike<number> | null;
	readonly entropies: ArrayLike<number>;
}

/** Means over the tokens of an update: entropy, KL to the sampling policy, and shares of clipped tokens. */
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
			const side = clipSide(now, old, advantages[t] as number, range);
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

/** A row of an update of the critic; one entry per completion token. */
export interface ValuedRow {
	/** Before the update. */
	readonly values: ArrayLike<number>;
	/** When the batch was sampled. */
	readonly oldValues: ArrayLike<number>;
}

/** Share of tokens of an update whose value has left the range around its old value. */
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
