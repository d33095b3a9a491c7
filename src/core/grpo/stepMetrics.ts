import { type ClipRange, clipSide } from './clippedLoss.ts';
import { klEstimate } from './kl.ts';

/** One row of an update, including skipped rows. Arrays have one entry per completion token. */
export interface UpdateRow {
	/** Whether the row is excluded from the loss and these metrics (truncated under `mask_truncated_completions`). */
	readonly masked: boolean;
	readonly advantage: number;
	/** Log-probabilities under the policy before the update. Skipped rows use those of the sampler. */
	readonly logprobs: ArrayLike<number>;
	/** Log-probabilities before the first update of the batch, or null if identical to `logprobs` (first update). */
	readonly oldLogprobs: ArrayLike<number> | null;
	readonly refLogprobs: ArrayLike<number> | null;
	readonly entropies: ArrayLike<number>;
}

export type Metrics = Record<string, number | null>;

/** Converts a value for metrics.jsonl. NaN and infinities become null, which means that there is no valid sample. */
export function metricValue(value: number): number | null {
	return Number.isFinite(value) ? value : null;
}

/**
 * Computes the metrics of one update, with TRL 1.13's names and definitions (`GRPOTrainer._compute_loss`). `kl` (only
 * if beta is above 0), `entropy`, and `clip_ratio/low_mean|high_mean|region_mean` are means over all unmasked
 * completion tokens of the update; `clip_ratio/low_min` and `high_max` are the minimum and maximum fraction over
 * completions.
 */
export function updateMetrics(rows: readonly UpdateRow[], settings: ClipRange & { readonly beta: number }): Metrics {
	let tokens = 0;
	let kl = 0;
	let klTokens = 0;
	let entropy = 0;
	let low = 0;
	let high = 0;
	let lowMin = Number.POSITIVE_INFINITY;
	let highMax = Number.NEGATIVE_INFINITY;
	for (const row of rows) {
		const length = row.logprobs.length;
		if (row.masked || length === 0) continue;
		let rowLow = 0;
		let rowHigh = 0;
		for (let t = 0; t < length; t++) {
			const logprob = row.logprobs[t] as number;
			entropy += row.entropies[t] as number;
			if (settings.beta !== 0 && row.refLogprobs !== null) {
				kl += klEstimate('k3', logprob, row.refLogprobs[t] as number);
				klTokens++;
			}
			if (row.oldLogprobs === null) continue;
			const side = clipSide(logprob, row.oldLogprobs[t] as number, row.advantage, settings);
			if (side === 'low') rowLow++;
			else if (side === 'high') rowHigh++;
		}
		tokens += length;
		low += rowLow;
		high += rowHigh;
		lowMin = Math.min(lowMin, rowLow / length);
		highMax = Math.max(highMax, rowHigh / length);
	}
	return {
		...(settings.beta === 0 ? {} : { kl: metricValue(kl / klTokens) }),
		entropy: metricValue(entropy / tokens),
		'clip_ratio/low_mean': metricValue(low / tokens),
		'clip_ratio/low_min': metricValue(lowMin),
		'clip_ratio/high_mean': metricValue(high / tokens),
		'clip_ratio/high_max': metricValue(highMax),
		'clip_ratio/region_mean': metricValue((low + high) / tokens),
	};
}
