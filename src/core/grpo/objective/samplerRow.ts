import type { Objective } from './objective.ts';
import {
	type CorrectedRow,
	isPerCompletion,
	type SamplerRow,
	samplerDrift,
	samplerLogRatio,
	samplerRatios,
} from './samplerCorrection.ts';

/** Returns the sampler data that an objective with a correction needs for a completion. */
export function samplerRow(
	row: CorrectedRow,
	{
		lossType,
		offPolicyThreshold,
		samplerCorrection,
	}: Pick<Objective, 'lossType' | 'offPolicyThreshold' | 'samplerCorrection'>,
): SamplerRow {
	if (samplerCorrection === null) return {};
	if (lossType === 'gmpo' && !isPerCompletion(samplerCorrection)) {
		throw new RangeError('gmpo has one loss per completion, so its ratios cannot be per token.');
	}
	return {
		...(lossType === 'vespo'
			? { samplerLogRatio: samplerLogRatio(row, samplerCorrection) }
			: { samplerRatios: samplerRatios(row, samplerCorrection) }),
		...(offPolicyThreshold === null ? {} : { samplerDrift: samplerDrift(row) }),
	};
}

/** Returns the factor of a token's surrogate loss. */
export const samplerRatioAt = ({ samplerRatios }: SamplerRow, t: number): number => samplerRatios?.[t] ?? 1;
