import type { PolicyStatistics } from '../../protocol/environmentVerification.ts';
import type { Episode } from '../../protocol/episode.ts';

/** Rewards closer than this count as equal. */
export const sameReward = 1e-9;

/**
 * Summarizes one policy's episodes.
 * @param gold reward of the row's solution, by row; success means earning at least as much
 * @param best largest possible reward, if the environment declares it; decides success for rows without a solution
 */
export function episodeStatistics(
	policy: string,
	episodes: readonly Episode[],
	gold: ReadonlyMap<number, number>,
	best: number | null,
): PolicyStatistics {
	const rewards = episodes.flatMap(({ reward }) => (reward === null ? [] : [reward]));
	let judged = 0;
	let successes = 0;
	for (const { row, reward, error } of episodes) {
		const needed = best ?? gold.get(row) ?? null;
		if (needed === null || (reward === null && error === undefined)) continue;
		judged++;
		if (reward !== null && reward >= needed - sameReward) successes++;
	}
	const turns = episodes.map((episode) => episode.turns.length);
	return {
		policy,
		episodes: episodes.length,
		failed: episodes.filter(({ error }) => error !== undefined).length,
		mean: rewards.length === 0 ? null : rewards.reduce((a, b) => a + b, 0) / rewards.length,
		min: rewards.length === 0 ? null : Math.min(...rewards),
		max: rewards.length === 0 ? null : Math.max(...rewards),
		judged,
		successes,
		maxTurns: turns.length === 0 ? 0 : Math.max(...turns),
	};
}
