import type { RolloutDetail } from '../../src/protocol/rolloutsMessages.ts';

/** Returns whether the weighted components sum to the reward, within float32 precision. */
export function addsUp(
	{ reward, rewards }: Pick<RolloutDetail, 'reward' | 'rewards'>,
	weights: ReadonlyMap<string, number>,
): boolean {
	if (reward === null) return rewards.every(([, value]) => value === null);
	let sum = 0;
	for (const [name, value] of rewards) sum += (value ?? 0) * (weights.get(name) ?? 1);
	return Math.abs(sum - reward) <= 1e-5 * Math.max(1, Math.abs(reward));
}
