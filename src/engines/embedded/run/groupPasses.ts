import type { RowScore } from '../../shared/scoreBatch.ts';

/** Results of the completions for one problem. */
export interface GroupPasses {
	/** Sum of their rewards, each clamped to [0, 1]. */
	readonly successes: number;
	/** Number of completions that have the reward. */
	readonly count: number;
}

/**
 * Returns how many completions pass in each group.
 * @param rows the rows in each group are contiguous, and all groups have the same size
 * @param reward name of the reward that counts
 */
export function groupPasses(rows: readonly RowScore[], groups: number, reward: string): GroupPasses[] {
	const size = rows.length / groups;
	return Array.from({ length: groups }, (_, g) => {
		const values = rows.slice(g * size, (g + 1) * size).flatMap(({ rewards }) => rewards[reward] ?? []);
		const successes = values.reduce((sum, value) => sum + Math.min(1, Math.max(0, value)), 0);
		return { successes, count: values.length };
	});
}
