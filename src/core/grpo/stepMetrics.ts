import { klEstimate } from './kl.ts';
import { isTruncated } from './objective/cispo.ts';
import { clipSide } from './objective/clipped.ts';
import { divergedSide, isDppo } from './objective/dppo.ts';
import { logRatios } from './objective/importanceRatio.ts';
import type { Objective } from './objective/objective.ts';
import type { SamplerRow } from './objective/samplerCorrection.ts';
import { vespoWeight } from './objective/vespo.ts';

/** One row in an update, including skipped rows. Arrays have one entry per completion token. */
export interface UpdateRow extends SamplerRow {
	/** Whether the row is excluded from the loss and these metrics (truncated under `mask_truncated_completions`). */
	readonly masked: boolean;
	readonly advantage: number;
	/** Advantages of tokens, if they differ within the completion. */
	readonly advantages?: ArrayLike<number> | undefined;
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
 * Computes the metrics of one update, with TRL 1.13's names and definitions (`GRPOTrainer._compute_loss`): `entropy`
 * and `kl` (only if beta is above 0) as means over all unmasked completion tokens in the update, and the metrics in
 * `ratioMetrics`, which show how the loss treats ratios far from 1.
 */
export function updateMetrics(rows: readonly UpdateRow[], objective: Objective): Metrics {
	let tokens = 0;
	let kl = 0;
	let klTokens = 0;
	let entropy = 0;
	for (const row of rows) {
		if (row.masked) continue;
		const length = row.logprobs.length;
		const ratios = objective.unbiasedKl ? logRatios(row, objective.level) : null;
		for (let t = 0; t < length; t++) {
			entropy += row.entropies[t] as number;
			if (objective.beta === 0 || row.refLogprobs === null) continue;
			const ratio = ratios === null ? 1 : Math.exp(ratios[t] as number);
			kl += ratio * klEstimate('k3', row.logprobs[t] as number, row.refLogprobs[t] as number);
			klTokens++;
		}
		tokens += length;
	}
	const ratios = ratioMetrics(rows, objective);
	if (tokens === 0) for (const name of Object.keys(ratios)) ratios[name] = null;
	return {
		...(objective.beta === 0 ? {} : { kl: metricValue(kl / klTokens) }),
		entropy: metricValue(entropy / tokens),
		...ratios,
	};
}

function ratioMetrics(rows: readonly UpdateRow[], objective: Objective): Metrics {
	switch (objective.lossType) {
		case 'sapo':
			return {};
		case 'cispo':
			return {
				cispo_clip_ratio: meanOver(rows, objective, (ratio, row, t) =>
					isTruncated(ratio, advantageAt(row, t), objective),
				),
			};
		case 'vespo': {
			const weights = rows.map((row) => (row.masked ? 1 : vespoWeight(row, objective.vespo)));
			return { 'vespo/phi_seq_mean': metricValue(weights.reduce((sum, weight) => sum + weight, 0) / weights.length) };
		}
		default:
			return clipMetrics(rows, objective);
	}
}

const advantageAt = ({ advantage, advantages }: UpdateRow, token: number): number => advantages?.[token] ?? advantage;

type Applies = (logRatio: number, row: UpdateRow, token: number) => boolean;

/** Whether there is one ratio per completion. If so, means are over completions, including masked ones, as in TRL. */
const perRow = ({ lossType, level }: Objective): boolean => level === 'sequence' && lossType !== 'gmpo';

/** Returns the fraction of tokens (or of completions, if there is one ratio per completion) that meet a condition. */
function meanOver(rows: readonly UpdateRow[], objective: Objective, applies: Applies): number | null {
	let sum = 0;
	let count = 0;
	for (const row of rows) {
		const fraction = row.masked ? 0 : fractionOf(row, objective, applies);
		const weight = perRow(objective) ? 1 : row.masked ? 0 : row.logprobs.length;
		if (weight > 0) sum += weight * fraction;
		count += weight;
	}
	return metricValue(sum / count);
}

function fractionOf(row: UpdateRow, objective: Objective, applies: Applies): number {
	const level = objective.lossType === 'gmpo' ? 'token' : objective.level;
	const ratios = logRatios(row, level);
	return ratios.reduce((n, ratio, t) => n + (applies(ratio, row, t) ? 1 : 0), 0) / ratios.length;
}

/**
 * Fractions of clipped tokens: `low_mean`, `high_mean`, and `region_mean` over the update, `low_min` and `high_max`
 * over completions. Ratios are first capped at `delta`, as in TRL. For gmpo, they are clipped in log space. For DPPO,
 * the fractions refer to excluded tokens.
 */
function clipMetrics(rows: readonly UpdateRow[], objective: Objective): Metrics {
	const logLimit = objective.delta === null ? Number.POSITIVE_INFINITY : Math.log(objective.delta);
	const side = (ratio: number, row: UpdateRow, t: number) => {
		const advantage = advantageAt(row, t);
		if (isDppo(objective)) return divergedSide(ratio, row.logprobs[t] as number, advantage, objective);
		if (objective.lossType !== 'gmpo') return clipSide(Math.min(ratio, logLimit), advantage, objective);
		if (ratio < -objective.epsilonLow && advantage < 0) return 'low';
		return ratio > objective.epsilonHigh && advantage > 0 ? 'high' : null;
	};
	const low: Applies = (ratio, row, t) => side(ratio, row, t) === 'low';
	const high: Applies = (ratio, row, t) => side(ratio, row, t) === 'high';
	const counted = rows.filter(({ masked, logprobs }) => perRow(objective) || (!masked && logprobs.length > 0));
	const fractions = (applies: Applies) => counted.map((row) => (row.masked ? 0 : fractionOf(row, objective, applies)));
	const [lowMean, highMean] = [meanOver(rows, objective, low), meanOver(rows, objective, high)];
	return {
		'clip_ratio/low_mean': lowMean,
		'clip_ratio/low_min': metricValue(Math.min(...fractions(low))),
		'clip_ratio/high_mean': highMean,
		'clip_ratio/high_max': metricValue(Math.max(...fractions(high))),
		'clip_ratio/region_mean': lowMean === null || highMean === null ? null : lowMean + highMean,
	};
}
