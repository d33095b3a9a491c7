import type { ScaleRewards } from '../../../protocol/recipeKeys/groupStages.ts';

export type { ScaleRewards };

export interface Advantages {
	/** One advantage per row, in the order of the rewards. 0 for rows without a reward. */
	readonly values: Float64Array;
	/** One flag per group: true if the group has fewer than two rewards or all are equal, so all its advantages are 0. */
	readonly dead: readonly boolean[];
	/** Sample standard deviation (n - 1) of each group's rewards, or NaN for fewer than two rewards. */
	readonly groupStd: Float64Array;
}

/** Added to the standard deviation, as in TRL. */
export const stdEpsilon = 1e-4;

/** Returns the mean of the non-NaN values, or NaN if there are none. */
export function mean(values: ArrayLike<number>): number {
	let sum = 0;
	let n = 0;
	for (let i = 0; i < values.length; i++) {
		const value = values[i] as number;
		if (Number.isNaN(value)) continue;
		sum += value;
		n++;
	}
	return n === 0 ? Number.NaN : sum / n;
}

/** Returns the sample standard deviation (n - 1) of the non-NaN values, or NaN for fewer than two (TRL's `nanstd`). */
export function sampleStd(values: ArrayLike<number>): number {
	const center = mean(values);
	let squares = 0;
	let n = 0;
	for (let i = 0; i < values.length; i++) {
		const value = values[i] as number;
		if (Number.isNaN(value)) continue;
		squares += (value - center) ** 2;
		n++;
	}
	return n < 2 ? Number.NaN : Math.sqrt(squares / (n - 1));
}

/**
 * Computes group-relative advantages: A_i = (r_i - mean of the group) / (std + 1e-4), as in DeepSeekMath (Shao et al.
 * 2024) section 4.1.2, with TRL's sample standard deviation. `scale` selects the standard deviation of the group, that
 * of the entire batch, or none (Dr. GRPO, Liu et al. 2025). A null reward is excluded from the mean and standard
 * deviation and gets advantage 0. A dead group (max reward = min reward) gets exactly 0, where floating-point
 * arithmetic would leave about 1e-13 / 1e-4.
 * @param rewards one per row; the rows of each group are contiguous
 */
export function computeAdvantages(
	rewards: readonly (number | null)[],
	groupSize: number,
	scale: ScaleRewards,
): Advantages {
	if (!Number.isInteger(groupSize) || groupSize < 1 || rewards.length % groupSize !== 0) {
		throw new RangeError(`${rewards.length} rewards cannot be divided into groups of ${groupSize}`);
	}
	const all = Float64Array.from(rewards, (reward) => reward ?? Number.NaN);
	const values = new Float64Array(all.length);
	const groups = all.length / groupSize;
	const groupStd = new Float64Array(groups);
	const dead: boolean[] = [];
	const batchStd = scale === 'batch' ? sampleStd(all) : Number.NaN;
	for (let g = 0; g < groups; g++) {
		const group = all.subarray(g * groupSize, (g + 1) * groupSize);
		const valid = group.filter((reward) => !Number.isNaN(reward));
		groupStd[g] = sampleStd(valid);
		const isDead = valid.length < 2 || valid.every((reward) => reward === valid[0]);
		dead.push(isDead);
		if (isDead) continue;
		const center = mean(valid);
		const divisor = scale === 'none' ? 1 : (scale === 'group' ? (groupStd[g] as number) : batchStd) + stdEpsilon;
		for (let i = 0; i < groupSize; i++) {
			const reward = group[i] as number;
			values[g * groupSize + i] = Number.isNaN(reward) ? 0 : (reward - center) / divisor;
		}
	}
	return { values, dead, groupStd };
}
