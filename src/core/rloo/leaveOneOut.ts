import { type Advantages, sampleStd } from '../grpo/advantages/groupAdvantages.ts';
import { klEstimate } from '../grpo/kl.ts';

/**
 * Computes the per-completion KL penalty, in nats, that TRL 1.13's RLOOTrainer subtracts from the reward: the sum over
 * tokens of log policy - log reference (k1; Ahmadian et al. 2024, section 2.1).
 */
export function completionKl(logprobs: ArrayLike<number>, refLogprobs: ArrayLike<number>): number {
	let sum = 0;
	for (let t = 0; t < logprobs.length; t++) {
		sum += klEstimate('k1', logprobs[t] as number, refLogprobs[t] as number);
	}
	return sum;
}

/**
 * Computes leave-one-out advantages (RLOO; Kool et al. 2019; Ahmadian et al. 2024, equation 8): the reward of a
 * completion minus the mean reward of the other completions for the same prompt. Null rewards are excluded from the
 * means and get advantage 0, as in TRL. If all rewards in a group are equal, its advantages are exactly 0.
 * @param rewards one per row, including KL penalties; rows in a group are contiguous
 */
export function leaveOneOutAdvantages(rewards: readonly (number | null)[], groupSize: number): Advantages {
	if (!Number.isInteger(groupSize) || groupSize < 1 || rewards.length % groupSize !== 0) {
		throw new RangeError(`${rewards.length} rewards cannot be split into groups of ${groupSize}`);
	}
	const values = new Float64Array(rewards.length);
	const groups = rewards.length / groupSize;
	const groupStd = new Float64Array(groups);
	const dead: boolean[] = [];
	for (let g = 0; g < groups; g++) {
		const group = rewards.slice(g * groupSize, (g + 1) * groupSize);
		const valid = group.filter((reward) => reward !== null);
		groupStd[g] = sampleStd(valid);
		const isDead = valid.length < 2 || valid.every((reward) => reward === valid[0]);
		dead.push(isDead);
		if (isDead) continue;
		const sum = valid.reduce((a, b) => a + b, 0);
		for (const [i, reward] of group.entries()) {
			if (reward !== null) values[g * groupSize + i] = reward - (sum - reward) / (valid.length - 1);
		}
	}
	return { values, dead, groupStd };
}
