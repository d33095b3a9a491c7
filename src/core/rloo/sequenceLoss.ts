import { mean } from '../grpo/advantages/groupAdvantages.ts';
import { type ClipRange, clipSide } from '../grpo/objective/clipped.ts';
import { type Metrics, metricValue } from '../grpo/stepMetrics.ts';

/** Row in an update, including skipped rows; arrays have one entry per completion token. */
export interface SequenceRow {
	/** Whether the row is truncated under `mask_truncated_completions`, so its tokens never count. */
	readonly masked: boolean;
	readonly advantage: number;
	/** Log-probabilities under the policy before the update; sampler log-probabilities for a skipped row. */
	readonly logprobs: ArrayLike<number>;
	/** null if equal to `logprobs` (first update in a batch). */
	readonly oldLogprobs: ArrayLike<number> | null;
	readonly entropies: ArrayLike<number>;
}

function total(values: ArrayLike<number>): number {
	let sum = 0;
	for (let t = 0; t < values.length; t++) sum += values[t] as number;
	return sum;
}

/**
 * Computes the metrics of one RLOO update, with the names and definitions in TRL 1.13 (`RLOOTrainer._compute_loss`):
 * `entropy` is a mean over unmasked tokens; ratios are per completion, so `clip_ratio/*` are fractions of completions.
 */
export function sequenceMetrics(rows: readonly SequenceRow[], range: ClipRange): Metrics {
	let tokens = 0;
	let entropy = 0;
	const low: number[] = [];
	const high: number[] = [];
	for (const { masked, advantage, logprobs, oldLogprobs, entropies } of rows) {
		const ratioIsOne = masked || oldLogprobs === null;
		const side = ratioIsOne ? null : clipSide(total(logprobs) - total(oldLogprobs), advantage, range);
		low.push(side === 'low' ? 1 : 0);
		high.push(side === 'high' ? 1 : 0);
		if (masked) continue;
		tokens += entropies.length;
		entropy += total(entropies);
	}
	return {
		entropy: metricValue(entropy / tokens),
		'clip_ratio/low_mean': metricValue(mean(low)),
		'clip_ratio/low_min': metricValue(Math.min(...low)),
		'clip_ratio/high_mean': metricValue(mean(high)),
		'clip_ratio/high_max': metricValue(Math.max(...high)),
		'clip_ratio/region_mean': metricValue(mean(low) + mean(high)),
	};
}
