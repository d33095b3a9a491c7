import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { RewardSample } from './rewardSample.ts';
import { lengthOf } from './textLength.ts';

type Options = Pick<
	RewardEntry<'length-target'>,
	'target' | 'column' | 'mode' | 'range' | 'alpha' | 'delta' | 'unit' | 'of'
>;

/** Returns the target length for a row, from its column or from the option; null if there is none. */
function targetOf({ row }: RewardSample, { column, target }: Options): number | null {
	const own = column !== undefined && Object.hasOwn(row, column) ? row[column] : null;
	const value = own === null || own === '' ? target : Number(own);
	return value !== undefined && Number.isFinite(value) && value >= 0 ? value : null;
}

/**
 * Rewards a length n relative to its target.
 * - `near`: max(0, 1 - |n - target| / range): a tent function that peaks at 1
 * - `exact`: -alpha |target - n|, the length term of L1's LCPO-Exact (Aggarwal and Welleck 2025); its correctness
 *   term is provided by the separate accuracy reward
 * - `max`: correct x clip(alpha (target - n) + delta, 0, 1), LCPO-Max: correct answers earn more below the target
 *
 * @param correct result of the accuracy reward; only used by `max`
 */
export function lengthTargetReward(
	sample: RewardSample,
	options: Options,
	tags: TraceTags,
	correct: number | null,
): number | null {
	const target = targetOf(sample, options);
	// Missing thinking has length 0, so omitting it does not bypass the target.
	const length = lengthOf(sample, options, tags) ?? 0;
	if (target === null) return null;
	const { mode, range = target, alpha, delta } = options;
	switch (mode) {
		case 'near':
			if (range <= 0) return length === target ? 1 : 0;
			return Math.max(0, 1 - Math.abs(length - target) / range);
		case 'exact':
			// Avoids displaying -0.
			return length === target ? 0 : -alpha * Math.abs(target - length);
		case 'max':
			if (correct === null) return null;
			return correct * Math.min(1, Math.max(0, alpha * (target - length) + delta));
	}
}
