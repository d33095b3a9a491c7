import type { AdvantageSettings } from './advantageSettings.ts';
import { decoupledAdvantages } from './decoupled.ts';
import { type Advantages, computeAdvantages } from './groupAdvantages.ts';
import { maxRlAdvantages } from './maxRl.ts';
import { passAtKAdvantages } from './passAtK.ts';

/** A completion with its rewards. */
export interface RewardedRow {
	/** One value per reward function; null if it does not apply. */
	readonly values: readonly (number | null)[];
	/** Weighted sum, or null if it is unknown. */
	readonly reward: number | null;
}

/**
 * Returns the advantages of a batch. Groups with equal rewards are dead (all their advantages are 0), as are groups
 * that the estimator cannot learn from.
 * @param rows the rows of each group are contiguous
 * @param weights one per reward function
 */
export function estimateAdvantages(
	rows: readonly RewardedRow[],
	weights: readonly number[],
	groupSize: number,
	settings: AdvantageSettings,
): Advantages {
	const rewards = rows.map(({ reward }) => reward);
	const grouped = computeAdvantages(rewards, groupSize, settings.scale);
	const decoupled = settings.aggregation === 'normalize_then_sum';
	if (settings.estimator === 'grpo' && !decoupled) return grouped;
	const values = decoupled
		? decoupledAdvantages(rows.map(valuesOf), weights, groupSize)
		: withinGroups(rewards, groupSize, (group) =>
				settings.estimator === 'maxrl' ? maxRlAdvantages(group) : passAtKAdvantages(group, settings.passK),
			);
	const dead = grouped.dead.map((_, g) =>
		values.subarray(g * groupSize, (g + 1) * groupSize).every((value) => value === 0),
	);
	return { values, dead, groupStd: grouped.groupStd };
}

/** Values of a row; none if its sum is unknown. */
const valuesOf = ({ values, reward }: RewardedRow): Float64Array =>
	Float64Array.from(values, (value) => (reward === null ? Number.NaN : (value ?? Number.NaN)));

/** Applies a function to the known rewards of each group with at least two distinct rewards; 0 for all others. */
function withinGroups(
	rewards: readonly (number | null)[],
	groupSize: number,
	advantagesOf: (known: Float64Array) => Float64Array,
): Float64Array {
	const values = new Float64Array(rewards.length);
	for (let from = 0; from < rewards.length; from += groupSize) {
		const places = Array.from({ length: groupSize }, (_, i) => from + i).filter((at) => rewards[at] !== null);
		const known = Float64Array.from(places, (at) => rewards[at] as number);
		if (known.every((reward) => reward === known[0])) continue;
		for (const [i, value] of advantagesOf(known).entries()) values[places[i] as number] = value;
	}
	return values;
}
