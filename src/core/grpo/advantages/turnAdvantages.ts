import type { ScaleRewards } from '../../../protocol/recipeKeys/groupStages.ts';
import { mean, stdEpsilon } from './groupAdvantages.ts';

/** An episode with the rewards of its turns. */
export interface RewardedTurns {
	/** Weighted reward of the whole episode, or null if it is unknown. */
	readonly reward: number | null;
	/** Weighted reward of each turn, which is part of `reward`; null if the turn has none of its own. */
	readonly turns: readonly (number | null)[];
}

/** Smaller differences between returns are attributed to rounding. */
const rounding = 1e-9;

/**
 * Returns what an episode earns from each turn onward: its reward minus the rewards of earlier turns. A reward that
 * belongs to no turn, such as one given at the end, is part of every turn's return.
 */
export function returnsOfTurns(reward: number, turns: readonly (number | null)[]): Float64Array {
	let left = reward;
	return Float64Array.from(turns, (earned) => {
		const from = left;
		left -= earned ?? 0;
		return from;
	});
}

/**
 * Advantages per turn: A_ik = (G_ik - mean_k) / (std + 1e-4), where G_ik is the return of episode i from turn k onward.
 * Returns are undiscounted, as in GTPO (Ding et al. 2025, arXiv:2511.14846), and each is compared with the group's
 * returns for the same turn, as MT-GRPO does with turn rewards (Zeng et al. 2025, arXiv:2505.11821). Episodes in a
 * group can differ in length: `mean_k` is the mean over the `n_k` episodes with a turn k, and all turns share a pooled
 * standard deviation: the square root of the sum over k and i of (G_ik - mean_k)^2 divided by the sum over k of
 * (n_k - 1). If all episodes have the same number of turns and no turn has a reward, the results match GRPO.
 *
 * A turn reached by only one episode in the group gets 0, as do episodes without a reward.
 * @param rows the rows of each group are contiguous
 * @param scale whether the deviation is pooled over the group or the batch; with `none`, the divisor is 1
 * @returns for each episode, one advantage per turn
 */
export function turnAdvantages(rows: readonly RewardedTurns[], groupSize: number, scale: ScaleRewards): Float64Array[] {
	const centered = rows.map(({ turns }) => new Float64Array(turns.length));
	const pools: { squares: number; freedom: number }[] = [];
	for (let from = 0; from < rows.length; from += groupSize) {
		const group = rows.slice(from, from + groupSize);
		const returns = group.map(({ reward, turns }) => (reward === null ? null : returnsOfTurns(reward, turns)));
		const longest = Math.max(0, ...returns.map((one) => one?.length ?? 0));
		const pool = { squares: 0, freedom: 0 };
		for (let k = 0; k < longest; k++) {
			const values = returns.flatMap((one) => (one !== null && k < one.length ? [one[k] as number] : []));
			const center = mean(values);
			pool.freedom += values.length - 1;
			for (const [i, one] of returns.entries()) {
				if (one === null || k >= one.length) continue;
				const difference = (one[k] as number) - center;
				if (Math.abs(difference) < rounding) continue;
				pool.squares += difference ** 2;
				(centered[from + i] as Float64Array)[k] = difference;
			}
		}
		pools.push(pool);
	}
	const sum = (of: 'squares' | 'freedom') => pools.reduce((total, pool) => total + pool[of], 0);
	const whole = { squares: sum('squares'), freedom: sum('freedom') };
	return centered.map((differences, i) => {
		const pool = scale === 'batch' ? whole : (pools[Math.floor(i / groupSize)] as (typeof pools)[number]);
		const divisor = scale === 'none' ? 1 : Math.sqrt(pool.squares / Math.max(1, pool.freedom)) + stdEpsilon;
		return differences.map((difference) => difference / divisor);
	});
}
